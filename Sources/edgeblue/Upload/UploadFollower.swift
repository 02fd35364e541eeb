import Foundation
import JSONValues
import Timing
import Uploads

/// Runs a queue, or waits for the process that does, and reports the items that finish.
struct UploadFollower: Sendable {
  private let store: QueueStore
  private let queue: UploadQueue
  private let terminal: Terminal
  /// The time after which a command ends whatever is left; `nil` to wait without end.
  var limit: Duration?
  /// The folders of recordings, which are looked at beside the queue.
  private let sources: SegmentSources

  /// The interval at which the screen is drawn, and at which another process's queue is polled.
  private static let frame = Duration.milliseconds(250)
  /// The time for which files are read before they are queued together, because queueing waits for the disk. The first
  /// file is queued at once.
  private static let batch = Duration.milliseconds(250)

  /// - Parameter sources: The folders of recordings, if the caller has looked at them already.
  init(
    _ store: QueueStore, _ queue: UploadQueue, _ terminal: Terminal, limit: Duration? = nil,
    sources: SegmentSources? = nil
  ) {
    self.sources = sources ?? SegmentSources(store)
    self.store = store
    self.queue = queue
    self.terminal = terminal
    self.limit = limit
  }

  /// Uploads until the task is cancelled.
  /// - Parameter once: `true` to end when the queue can do nothing more.
  /// - Throws: ``Failure`` if an item has failed or is left, or the limit has passed.
  func run(once: Bool = false) async throws {
    try await run(FollowedUploads(store, queue, terminal, reportsAll: true)) { [queue, sources] followed in
      while once {
        if try await queue.isIdle() { return try await followed.completeAll(problems: await sources.problems.count) }
        try await followed.checkPause()
        try await Task.sleep(for: Self.frame, clock: .steady)
      }
      return false
    }
  }

  /// Queues files, each read while earlier ones are uploaded, until each is done or has failed for good, and with them
  /// what recorders have left: no other program may come that uploads it.
  /// - Parameters:
  ///   - requests: Closures that read a file and return its request.
  ///   - isUploaded: Returns `true` for a request of a recorder that this program can upload.
  /// - Throws: ``Failure`` if a file has failed; an error of `requests`, after which the earlier files stay queued.
  func run(
    queueing requests: [@Sendable () throws -> UploadRequest],
    withRecordings isUploaded: @escaping @Sendable (UploadRequest) -> Bool
  ) async throws {
    try await run(FollowedUploads(store, queue, terminal, reportsAll: false)) { [queue, sources, terminal] followed in
      var batch: [UploadRequest] = []
      var start = ContinuousClock.now - Self.batch
      for (index, request) in requests.enumerated() {
        batch.append(try request())
        guard index == requests.count - 1 || start.duration(to: .now) >= Self.batch else { continue }
        try await followed.add(try await queue.add(batch))
        batch = []
        start = .now
        try Task.checkCancellation()
      }
      let left = try await sources.waiting { $0.endpoint == queue.endpoint.url && isUploaded($0) }
      if !left.isEmpty {
        terminal.whisper("\(left.count) files of recordings are uploaded as well; Ctrl-C leaves them in the queue.")
        try await followed.add(left)
      }
      return await followed.complete()
    }
  }

  private func run(
    _ followed: FollowedUploads, _ queueing: @escaping @Sendable (FollowedUploads) async throws -> Bool
  ) async throws {
    let updates = queue.updates()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await queue.run()
        return true
      }
      group.addTask {
        for await update in updates where try await followed.handle(update, dropped: updates.dropped) { return true }
        return false
      }
      group.addTask {
        while try await !followed.tick() { try await Task.sleep(for: Self.frame, clock: .steady) }
        return true
      }
      group.addTask { try await queueing(followed) }
      if let limit {
        group.addTask {
          try await Task.sleep(for: limit, clock: .steady)
          throw await followed.unfinished(after: limit)
        }
      }
      group.addTask { [sources, terminal] in
        await sources.run { problem in
          terminal.happened(problem.printable, "problem", ["error": .string(problem)])
        }
        return false
      }
      defer { group.cancelAll() }
      while let isOver = try await group.next(), !isOver {}
    }
    try await followed.finish()
  }
}

/// The events since the start of a command, also those that repeat an earlier one, which the store only counts.
private struct UploadNews {
  let startMs = WallClock.unixMilliseconds()
  /// The highest ID of an event before the start.
  let newestBefore: Int64
  private var taken: Set<Int64> = []

  init(newestBefore: Int64) { self.newestBefore = newestBefore }

  func contains(_ event: UploadEvent) -> Bool { event.id > newestBefore || event.lastAtMs >= startMs }

  /// Returns `true` for a new event, once.
  mutating func take(_ event: UploadEvent) -> Bool { contains(event) && taken.insert(event.id).inserted }
}

/// The items that a command waits for, or all, and the report of those that finish.
///
/// The queue's updates report them. The store is read when updates were dropped, for items that had finished before they
/// were added, and at every tick while another process uploads the queue.
private actor FollowedUploads {
  private let store: QueueStore
  private let queue: UploadQueue
  private let terminal: Terminal
  /// The items to report; `nil` for all that finish from the start on.
  private var wanted: Set<Int64>?
  private var isComplete = false
  private var reported: Set<Int64> = []
  private var tally = UploadTally()
  /// The problem of the queue that was reported last.
  private var problem: String?
  private var news: UploadNews
  private var recent: [UploadEvent] = []
  private var dropped = 0
  private var otherProcess = OtherProcess.unknown
  private var screen = LiveScreen()
  private var monitor = UploadsMonitor()

  private enum OtherProcess {
    case unknown
    /// It uploads the queue, whose store had this version at the last tick.
    case uploading(version: Int64)
    case absent
  }

  private static let recentLimit = 20

  init(_ store: QueueStore, _ queue: UploadQueue, _ terminal: Terminal, reportsAll: Bool) throws {
    self.store = store
    self.queue = queue
    self.terminal = terminal
    wanted = reportsAll ? nil : []
    news = UploadNews(newestBefore: try store.events().map(\.id).max() ?? 0)
  }

  private var isOver: Bool { isComplete && wanted?.isSubset(of: reported) != false }

  /// Adds items to wait for.
  func add(_ ids: [Int64]) throws {
    wanted?.formUnion(ids)
    try catchUp(from: ids.min() ?? 0)
    try reportTaken()
  }

  /// Declares that no further items will be added.
  /// - Returns: `true` if every item has been reported.
  func complete() -> Bool {
    isComplete = true
    return isOver
  }

  /// Declares that the queue can do nothing more.
  /// - Parameter problems: The number of problems of folders of recordings.
  func completeAll(problems: Int) throws -> Bool {
    try catchUp()
    tally.remainder = try UploadRemainder(of: queue, after: tally, problems: problems).failure
    isComplete = true
    return true
  }

  /// Ends a command that would wait for a user.
  /// - Throws: ``Failure`` if the whole queue is paused.
  func checkPause() throws {
    guard try store.isPaused else { return }
    throw Failure(
      "the queue is paused", hint: "the items stay queued; `edgeblue uploads resume` resumes it", status: .tryAgain)
  }

  /// Returns the failure of a command whose time has passed.
  func unfinished(after limit: Duration) -> Failure {
    let left = wanted.map { $0.subtracting(reported).count }
    return Failure(
      left.map { "\($0) of \($0 + reported.count) items are not uploaded after \(limit.components.seconds) s" }
        ?? "items are not uploaded after \(limit.components.seconds) s",
      hint: "they stay queued; `edgeblue uploads` lists the reasons, `edgeblue uploads run` continues",
      status: .tryAgain)
  }

  /// Handles an update of the queue.
  /// - Parameter dropped: The number of updates lost so far.
  /// - Returns: `true` if every item has been reported.
  func handle(_ update: UploadUpdate, dropped: Int) throws -> Bool {
    monitor.itemsChanged()
    if dropped != self.dropped {
      self.dropped = dropped
      try catchUp()
    }
    switch update {
    case .event(let event): try report(event)
    case .itemsChanged: try reportTaken()
    }
    return isOver
  }

  /// Looks after another process, and draws the screen of a live terminal.
  /// - Returns: `true` if every item has been reported.
  func tick() async throws -> Bool {
    let status = await queue.status
    switch otherProcess {
    case .uploading(let before) where status.isUploadedElsewhere:
      let version = try store.version()
      if version != before {
        try catchUp()
        try reportTaken()
      }
      otherProcess = .uploading(version: version)
    case _ where status.isUploadedElsewhere:
      otherProcess = .uploading(version: try store.version())
      try catchUp()
    case .absent: break
    case .unknown, .uploading:
      // This process has taken the queue over since the last tick.
      otherProcess = .absent
      try catchUp()
    }
    if !terminal.isLive, let problem = status.problem, problem != self.problem {
      terminal.happened(problem.printable, "problem", ["error": .string(problem)])
    }
    problem = status.problem
    if terminal.isLive {
      let now = try status.isUploadedElsewhere ? monitor.read(store) : monitor.read(status, store)
      Output.write(screen.frame(UploadText.live(now, notes: UploadText.notes(status), events: recent)))
    }
    return isOver
  }

  /// Clears the screen.
  /// - Throws: ``Failure`` if none is left to wait for, and not all are uploaded.
  func finish() throws {
    if terminal.isLive { Output.write(screen.frame([])) }
    guard isOver else { return }
    if let failure = tally.failure { throw failure }
  }

  /// Reports the items that a user has dropped, moved or paused: this command can no longer wait for them.
  private func reportTaken() throws {
    guard let left = wanted?.subtracting(reported), !left.isEmpty else { return }
    for id in left.sorted() {
      guard let item = try store.item(id) else {
        let name = try store.events(item: id, limit: 1).last?.object ?? "item \(id)"
        report(.dropped, id, name, ["item": .number(Int(id))])
        continue
      }
      if item.request.endpoint != queue.endpoint.url {
        report(.moved, id, item.request.key, item.json)
      } else if item.state == .paused {
        report(.paused, id, item.request.key, item.json)
      }
    }
    if !isOver { try checkPause() }
  }

  private func report(_ end: UploadTally.End, _ id: Int64, _ name: String, _ fields: [String: JSONValue]) {
    guard reported.insert(id).inserted else { return }
    tally.add(end)
    if terminal.isLive { Output.write(screen.frame([])) }
    terminal.happened("\(name.printable): \(end) by a user", "\(end)", fields, paint: .red)
  }

  /// Reports the events and finished items that the store has and no update has reported.
  private func catchUp(from first: Int64 = 0) throws {
    for event in try store.events(limit: 50).filter(news.contains).sorted(by: { $0.id < $1.id }) {
      noteRecent(event)
    }
    let start = wanted == nil ? 0 : max(first, wanted?.subtracting(reported).min() ?? 0)
    for item in try store.finishedItems(from: start, since: wanted == nil ? news.startMs : 0) { report(item) }
  }

  private func report(_ event: UploadEvent) throws {
    noteRecent(event)
    if [.done, .gaveUp, .unsettled].contains(event.kind), let id = event.item, let item = try store.item(id) {
      report(item)
    }
  }

  /// Reports why an item or account waits, once for each reason.
  private func noteRecent(_ event: UploadEvent) {
    recent.removeAll { $0.id == event.id }
    recent = (recent + [event]).suffix(Self.recentLimit)
    guard news.take(event), !terminal.isLive,
      [.failed, .credentialsMissing, .credentialsFound, .conditionIgnored].contains(event.kind)
    else { return }
    // An item that failed for good is reported as "failed".
    let name = event.kind == .failed ? "retrying" : event.kind.rawValue
    terminal.happened(UploadText.said(event), name, event.json)
  }

  /// Reports an item that is done or has failed for good, once.
  private func report(_ item: UploadItem) {
    // A delivered item with a problem: its file cannot be removed, and waiting does not help.
    let isUnsettled = item.state == .delivered && item.problem != nil
    guard isUnsettled || [.done, .failed].contains(item.state), wanted?.contains(item.id) ?? true,
      reported.insert(item.id).inserted
    else { return }
    if terminal.isLive { Output.write(screen.frame([])) }
    if item.state == .failed || isUnsettled {
      tally.add(isUnsettled ? .unsettled : .failed)
      let reason = (isUnsettled ? "uploaded, but its local file stays: " : "") + (item.problem ?? "failed").printable
      terminal.happened(
        "\(item.request.key.printable): \(reason)", isUnsettled ? "unsettled" : "failed", item.json, paint: .red)
    } else {
      tally.add(.uploaded)
      terminal.happened(
        "\(item.request.key.printable): \(Amounts.bytes(Int(item.request.content.size))) uploaded", "uploaded",
        item.json)
    }
  }
}
