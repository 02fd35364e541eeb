package import DurableFiles
public import ErrorReporting
public import Logging

/// A sender of the queue's messages by the schedule, at a constant rate whatever the queue contains.
///
/// It never has the secret that tells messages from covers: everything that it does, writes and logs is the same for an
/// empty queue and for a full one. Several senders, in one process or in several, may share a folder: one of them runs
/// at a time, and the others report ``SendingOutcome/busy``.
///
/// ```swift
/// func send(_ queue: SendingQueue, _ covers: some CoverSource, over transport: some MessageTransport) async {
///   let sender = MessageSender(folder: "/var/lib/edgeblue/messages", queue, covers: covers, transport: transport)
///   await sender.run()  // until the task is cancelled
/// }
/// ```
public actor MessageSender {
  /// The settings of a sender.
  public struct Options: Sendable {
    /// The numbers of the schedule.
    public var policy = SendingPolicy.usual
    /// The timeout of one attempt to send a message: 60 s.
    public var attemptLimit = Duration.seconds(60)
    /// The clocks and the randomness.
    public var clock = SendingClock.system
    /// A closure that runs at the start of each run, before anything is made or sent: for example one that fetches
    /// newer keys. It must not depend on the queue.
    public var prepare: @Sendable () async -> Void = {}
    /// The logger for one line for each tick.
    public var logger = Logger(label: "edgeblue.messages")
    /// The disk, whose steps a test can make fail.
    package var disk = Disk()

    /// Creates settings with their defaults.
    public init() {}
  }

  private let source: any MessageSource
  private let covers: any CoverSource
  private let transport: any MessageTransport
  private let store: SendingStore
  private let options: Options
  private let onOutcome: @Sendable (SendingOutcome) -> Void
  private var machine: SendingMachine
  /// The lock of the run in progress.
  private var lock: FileLock?
  /// A record in memory that is newer than the one on disk.
  private var isUnsaved = false
  private var deadline: Duration?
  private var timer: Task<Void, any Error>?

  /// Creates a sender; nothing is read or sent before ``run()`` or ``handle(_:)``.
  /// - Parameters:
  ///   - folder: The folder of the record and its lock, which exists.
  ///   - source: The queue to send from; ``VaultedQueue`` for one whose user has a vault.
  ///   - covers: The source of the covers that replace sent messages.
  ///   - transport: The way to the server.
  ///   - options: The other settings.
  ///   - onOutcome: A closure that receives the outcome of each tick and run; it must not block.
  public init(
    folder: String, _ source: some MessageSource, covers: any CoverSource, transport: any MessageTransport,
    options: Options = Options(), onOutcome: @escaping @Sendable (SendingOutcome) -> Void = { _ in }
  ) {
    self.source = source
    self.covers = covers
    self.transport = transport
    self.options = options
    self.onOutcome = onOutcome
    store = SendingStore(folder: folder, disk: options.disk)
    machine = SendingMachine(policy: options.policy)
  }

  /// Sends by the schedule until the task is cancelled: a start, then a tick whenever one is due, then a stop.
  ///
  /// A run in progress is cancelled with the task, and its remainder is sent after the next start.
  public func run() async {
    _ = await handle(.started)
    while !Task.isCancelled {
      // Another process runs, or the disk is full: look again after a regular delay.
      if deadline == nil { arm(options.policy.delay.delay(at: options.clock.random())) }
      guard let due = deadline else { continue }
      let timer = Task { [time = options.clock.time] in try await time.sleep(until: due) }
      self.timer = timer
      // The timer fails when a resume sets it anew, or when the program stops; the loop looks at both.
      let result = await withTaskCancellationHandler {
        await timer.result
      } onCancel: {
        timer.cancel()
      }
      if case .success = result, !Task.isCancelled {
        deadline = nil
        _ = await handle(.ticked)
      }
    }
    // In a task of its own, because nothing waits in a cancelled one.
    _ = await Task { await handle(.stopping) }.value
  }

  /// Handles an event of the program or the host: a start or resume, a stop or suspend, or a tick of a scheduler.
  /// - Returns: The outcome, or `nil` if the event needs no run.
  @discardableResult public func handle(_ event: SendingMachine.Event) async -> SendingOutcome? {
    do throws(MessageSendingError) {
      guard lock == nil, let lock = try store.lock() else { return report(.busy) }
      self.lock = lock
    } catch {
      return report(.notStored, error)
    }
    defer {
      lock?.release()
      lock = nil
    }
    if !isUnsaved {
      do throws(MessageSendingError) {
        let (record, problem) = try store.load()
        if let problem { options.logger.error("schedule replaced", metadata: ["reason": "\(problem)"]) }
        machine = SendingMachine(record: record, policy: options.policy)
      } catch {
        return report(.notStored, error)
      }
    }
    return await perform(event)
  }

  /// Handles the event that is due for a program that is started at intervals, if one is.
  ///
  /// A program that is started again before `horizon` has passed sends at the very instants of one that stays; without
  /// a horizon an observer could tell the two apart by the seconds of the minute at which they send.
  /// - Parameter horizon: The time within which an event that is not due yet is waited for.
  /// - Returns: The outcome; `nil` if nothing was due, the event needed no run, or the task was cancelled.
  /// - Throws: ``MessageSendingError`` with code `.storage`.
  @discardableResult public func runIfDue(
    within horizon: Duration = .zero
  ) async throws(MessageSendingError) -> SendingOutcome? {
    let end = options.clock.time.now + horizon
    while true {
      let machine: SendingMachine
      do throws(MessageSendingError) {
        machine = SendingMachine(record: try store.read(), policy: options.policy)
      } catch {
        guard error.code == .damagedFile else { throw error }
        // The event replaces the record, with the lock, and finds a run owed.
        return await handle(.started)
      }
      let now = options.clock.wall()
      if let due = machine.dueEvent(at: now, bootedAt: options.clock.boot()) { return await handle(due) }
      // Another process may handle the event meanwhile, and set the next one.
      guard let delay = machine.delay(at: now), options.clock.time.now + delay <= end else { return nil }
      do { try await options.clock.time.sleep(for: delay) } catch { return nil }
    }
  }

  /// The time until the next tick of this process; `nil` before the first event.
  public var delay: Duration? { deadline.map { max($0 - options.clock.time.now, .zero) } }

  private func perform(_ event: SendingMachine.Event) async -> SendingOutcome? {
    var waiting = step(event)
    var outcome: SendingOutcome?
    var problem: MessageSendingError?
    while !waiting.isEmpty {
      switch waiting.removeFirst() {
      case .arm(let delay): arm(delay)
      case .rewriteQueue:
        do throws(MessageSendingError) { try source.rewrite() } catch { problem = problem ?? error }
      case .save(let record): problem = problem ?? save(record)
      case .report(let reported): outcome = reported
      case .send(let count):
        guard problem == nil else {
          waiting += step(.ended(.notStored))
          continue
        }
        let (ending, error) = await send(count)
        problem = error
        waiting += step(.ended(ending))
      }
    }
    if let problem, outcome == nil { return report(.notStored, problem) }
    return outcome.map { report($0, problem) }
  }

  private func step(_ event: SendingMachine.Event) -> [SendingMachine.Action] {
    machine.handle(event, at: options.clock.wall(), draw: options.clock.random())
  }

  private func save(_ record: SendingRecord) -> MessageSendingError? {
    do throws(MessageSendingError) {
      try store.save(record)
      isUnsaved = false
      return nil
    } catch {
      // Read from memory from now on: what was sent since may not be sent again.
      isUnsaved = true
      return error
    }
  }

  private func arm(_ delay: Duration) {
    deadline = options.clock.time.now + delay
    timer?.cancel()
  }

  @discardableResult private func report(
    _ outcome: SendingOutcome, _ problem: MessageSendingError? = nil
  ) -> SendingOutcome {
    var metadata: Logger.Metadata = ["outcome": "\(outcome)"]
    if let problem { metadata["reason"] = "\(problem)" }
    let level: Logger.Level = [.failed, .withoutCovers, .notStored].contains(outcome) ? .warning : .info
    options.logger.log(level: level, "sending tick finished", metadata: metadata)
    onOutcome(outcome)
    return outcome
  }
}

extension MessageSender {
  /// Makes the attempts of a run: as many as the schedule says, whatever happens to each of them.
  private func send(_ count: Int) async -> (SendingMachine.Ending, MessageSendingError?) {
    await options.prepare()
    if Task.isCancelled { return (.cancelled, nil) }
    let replacements: [SealedMessage]
    do throws(MessageSendingError) {
      // All of them before the first attempt: a message may not be sent when a cover could not be.
      var made: [SealedMessage] = []
      for _ in 0..<count { made.append(try covers.cover()) }
      replacements = made
    } catch {
      return (.withoutCovers, MessageSendingError(.noCovers, error.message))
    }
    var problem: MessageSendingError?
    for replacement in replacements {
      if Task.isCancelled { return (.cancelled, problem) }
      do {
        let head = try source.takeHead()
        try await attempt(head)
        for case .save(let record) in step(.sent) {
          if let error = save(record) { throw error }
        }
        // Whatever was put into the queue meanwhile stays: only the message that was sent is removed.
        _ = try source.removeHead(ifEqualTo: head, appending: replacement)
      } catch let error as MessageSendingError where error.code == .storage || error.code == .busy {
        return (.notStored, error)
      } catch is CancellationError {
        return (.cancelled, problem)
      } catch {
        problem = error as? MessageSendingError ?? MessageSendingError(.notSent, error.safeText)
      }
    }
    return (.attempted, problem)
  }

  private func attempt(_ message: SealedMessage) async throws {
    let limit = options.attemptLimit
    try await options.clock.time.withLimit(
      limit, orThrow: MessageSendingError(.notSent, "the server did not accept a message within \(limit)")
    ) { [transport] in
      try await transport.send(message)
    }
  }
}
