import DBus
import Foundation
import Uploads

/// Runs a queue, unless another program does, and shows what becomes of its items.
struct UploadFollower: Sendable {
  private let store: QueueStore
  private let queue: UploadQueue
  private let terminal: Terminal

  /// How often what goes on is drawn.
  private static let frame = Duration.milliseconds(250)

  init(_ store: QueueStore, _ queue: UploadQueue, _ terminal: Terminal) {
    (self.store, self.queue, self.terminal) = (store, queue, terminal)
  }

  /// Uploads until the task is cancelled or, with items, until each of these is done or has failed.
  /// - Throws: ``Failure`` when one has failed.
  func run(until wanted: Set<Int64>? = nil) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        do {
          try await queue.run()
        } catch let error as UploadsError where error.code == .alreadyRunning && wanted != nil {
          // That one uploads them; what comes of it stands in the queue.
          try await Task.sleep(for: .seconds(86_400 * 365), clock: .steady)
        }
      }
      group.addTask { try await follow(wanted) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private func follow(_ wanted: Set<Int64>?) async throws {
    var (screen, speed, told) = (LiveScreen(), Speed(), Set<Int64>())
    var failed: [UploadItem] = []
    // What ended before is of interest only where it was asked for.
    var since = wanted == nil ? WallClock.unixMs() : 0
    while true {
      let first = wanted?.subtracting(told).min() ?? 0
      let recent = try store.ended(from: first, since: since)
        .filter { !told.contains($0.id) && wanted?.contains($0.id) ?? true }
      if wanted == nil { since = recent.compactMap(\.endedAtMs).max() ?? since }
      for item in recent {
        if terminal.isLive { Output.write(screen.frame([])) }
        tell(item)
        if item.state == .failed { failed.append(item) }
      }
      told.formUnion(recent.map(\.id))
      if let wanted, wanted.isSubset(of: told) { break }
      if terminal.isLive {
        let (status, totals) = (await queue.status, try store.totals())
        speed.note(status.counters.sentBytes)
        let running = try status.running.keys.sorted().compactMap { try store.item($0) }
        Output.write(screen.frame(UploadText.live(status, totals, running, speed.bytesPerSecond)))
      }
      try await Task.sleep(for: Self.frame, clock: .steady)
    }
    if terminal.isLive { Output.write(screen.frame([])) }
    guard failed.isEmpty else {
      throw Failure(
        "\(failed.count) of \(wanted?.count ?? failed.count) could not be uploaded",
        hint: "`edgeblue uploads list --all` says why; `edgeblue uploads retry ID` tries one again", status: .failed)
    }
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

/// How fast something grows, over the last few seconds.
struct Speed {
  private var samples: [(at: ContinuousClock.Instant, bytes: Int64)] = []

  mutating func note(_ bytes: Int64) {
    let now = ContinuousClock.now
    samples.append((now, bytes))
    samples.removeAll { $0.at < now - .seconds(5) }
  }

  /// `nil` until there are two moments.
  var bytesPerSecond: Double? {
    guard let first = samples.first, let last = samples.last, first.at < last.at else { return nil }
    let time = first.at.duration(to: last.at) / .seconds(1)
    return Double(last.bytes - first.bytes) / time
  }
}
