import Foundation
import Streams
import Timing
import Uploads

/// Runs a queue, unless another program does, and shows what becomes of its items.
struct UploadFollower: Sendable {
  private let store: QueueStore
  private let queue: UploadQueue
  private let terminal: Terminal

  /// How often what goes on is drawn.
  private static let frame = Duration.milliseconds(250)
  /// How often it is looked whether those that somebody waits for have ended.
  private static let look = Duration.milliseconds(50)
  /// For how long files are read before those that were are queued: queueing waits for the disk. The first is queued at
  /// once.
  private static let batch = Duration.milliseconds(250)

  /// The items that somebody waits for, as they become known.
  private struct Wanted {
    var ids: Set<Int64> = []
    var isComplete = false
  }

  init(_ store: QueueStore, _ queue: UploadQueue, _ terminal: Terminal) {
    self.store = store
    self.queue = queue
    self.terminal = terminal
  }

  /// Uploads until the task is cancelled.
  func run() async throws { try await run(nil) { _ in } }

  /// Queues files, each read first, while those before it are uploaded, until each is done or has failed.
  /// - Parameter requests: what reads a file and says what is to become of it.
  /// - Throws: ``Failure`` when one has failed; what `requests` throw: what was queued before stays so.
  func run(queueing requests: [@Sendable () throws -> UploadRequest]) async throws {
    try await run(Lock(Wanted())) { wanted in
      var batch: [UploadRequest] = []
      var begin = ContinuousClock.now - Self.batch
      for (index, request) in requests.enumerated() {
        batch.append(try request())
        guard index == requests.count - 1 || begin.duration(to: .now) >= Self.batch else { continue }
        let ids = try await queue.add(batch)
        wanted?.withLock { $0.ids.formUnion(ids) }
        batch = []
        begin = .now
        try Task.checkCancellation()
      }
      wanted?.withLock { $0.isComplete = true }
    }
  }

  private func run(
    _ wanted: Lock<Wanted>?, _ queueing: @escaping @Sendable (Lock<Wanted>?) async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await queue.run()
        return true
      }
      group.addTask {
        try await follow(wanted)
        return true
      }
      group.addTask {
        try await queueing(wanted)
        return false
      }
      defer { group.cancelAll() }
      while let isOver = try await group.next(), !isOver {}
    }
  }

  private func follow(_ waited: Lock<Wanted>?) async throws {
    var screen = LiveScreen()
    var look = UploadsLook()
    var told: Set<Int64> = []
    var heard = try store.events(limit: 1).last?.id ?? 0
    var seen: (UploadQueue.Counters, Int64)?
    var drawn: ContinuousClock.Instant?
    var failed: [UploadItem] = []
    let begin = WallClock.unixMilliseconds()
    // What ended before is of interest only where it was asked for.
    var since = waited == nil ? begin : 0
    while true {
      let known = waited?.withLock { $0 }
      let open = known?.ids.subtracting(told)
      // Nothing has ended while neither this program nor another one has done anything.
      let now = (await queue.status.counters, try store.version())
      let isQuiet = open?.isEmpty ?? seen.map { $0 == now } ?? false
      seen = now
      let ended = try isQuiet ? [] : store.ended(from: open?.min() ?? 0, since: since)
      let recent = ended.filter { !told.contains($0.id) && open?.contains($0.id) ?? true }
      if waited == nil { since = recent.compactMap(\.endedAtMs).max() ?? since }
      for item in recent {
        if terminal.isLive { Output.write(screen.frame([])) }
        tell(item)
        if item.state == .failed { failed.append(item) }
      }
      told.formUnion(recent.map(\.id))
      if let known, known.isComplete, known.ids.isSubset(of: told) { break }
      let isDue = drawn.map { $0 + Self.frame <= .now } ?? true
      if isDue { drawn = .now }
      if isDue, !terminal.isLive { try hear(&heard) }
      if isDue, terminal.isLive {
        let status = await queue.status
        let events = try store.events(limit: 20).filter { $0.lastAtMs >= begin }
        Output.write(
          screen.frame(UploadText.live(try look.look(at: store), notes: UploadText.notes(status), events: events)))
      }
      try await Task.sleep(for: waited == nil ? Self.frame : Self.look, clock: .steady)
    }
    if terminal.isLive { Output.write(screen.frame([])) }
    guard failed.isEmpty else {
      throw Failure(
        "\(failed.count) of \(told.count) could not be uploaded",
        hint: "`edgeblue uploads list --all` says why; `edgeblue uploads retry ID` tries one again", status: .failed)
    }
  }

  /// Tells why something waits, once for each reason.
  /// - Parameter last: the number of the event that was told last.
  private func hear(_ last: inout Int64) throws {
    let events = try store.events(limit: 50).filter { $0.id > last }.sorted { $0.id < $1.id }
    for event in events where [.failed, .credentialsMissing, .credentialsFound].contains(event.kind) {
      // What has failed for good has this name.
      let name = event.kind == .failed ? "retrying" : event.kind.rawValue
      terminal.happened(UploadText.said(event), name, event.json)
    }
    last = max(last, events.last?.id ?? 0)
  }

  private func tell(_ item: UploadItem) {
    if item.state == .failed {
      let text = "\(item.request.key.printable): \((item.problem ?? "failed").printable)"
      terminal.happened(terminal.paint(text, .red), "failed", item.json)
    } else {
      terminal.happened(
        "\(item.request.key.printable): \(Amounts.bytes(Int(item.request.content.size))) uploaded", "uploaded",
        item.json)
    }
  }
}
