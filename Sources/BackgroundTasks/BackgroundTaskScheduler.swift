import FoundationEssentials
public import Logging
internal import Streams
public import Timing

/// Runs tasks in the background, each when its time has come and its conditions hold, and remembers over a restart or a
/// crash which are pending.
///
/// It is what `BGTaskScheduler` is on Apple's systems, with two differences: what is pending after an interruption (the
/// program ended or came to the foreground, the network or the power went) stays pending, and there is no limit on how
/// many runs a day has. ``SchedulerMachine`` says by which rules.
public actor BackgroundTaskScheduler {
  private let handlers: [String: BackgroundTaskDefinition.Handler]
  private let store: BackgroundTaskStore?
  private let time: TimeSource
  private let wallClock: @Sendable () -> Int64
  private let logger: Logger
  private let onEvent: @Sendable (BackgroundTaskEvent) -> Void
  private var machine: SchedulerMachine
  private var runs: [Int: Task<Void, Never>] = [:]
  private var timer: Task<Void, Never>?
  private var isUnsaved = false
  private var counts = (completed: 0, failed: 0)
  /// Waits until nothing has the turn.
  private var idle: CheckedContinuation<Void, Never>?

  /// Makes a scheduler and takes up what was pending; nothing runs before ``run()``.
  /// - Parameters:
  ///   - tasks: every task there is. A request for another one is refused.
  ///   - store: where pending requests are kept; `nil` for a program that may forget them.
  ///   - budget: how long tasks may take.
  ///   - time: the clock by which delays and budgets count.
  ///   - wallClock: Unix milliseconds; counts only for what is read from the store.
  ///   - logger: hears of every run.
  ///   - onEvent: called for every event, in order, and quick.
  /// - Throws: ``BackgroundTasksError`` with code `.storage` when what was pending cannot be read.
  public init(
    _ tasks: [BackgroundTaskDefinition], store: BackgroundTaskStore?,
    budget: BackgroundTaskBudget = BackgroundTaskBudget(), time: TimeSource = .continuous,
    wallClock: @Sendable @escaping () -> Int64 = BackgroundTaskScheduler.systemWallClock,
    logger: Logger = Logger(label: "edgeblue.background"),
    onEvent: @Sendable @escaping (BackgroundTaskEvent) -> Void = { _ in }
  ) throws(BackgroundTasksError) {
    handlers = Dictionary(tasks.map { ($0.identifier, $0.handler) }) { _, last in last }
    let kinds = Dictionary(tasks.map { ($0.identifier, $0.kind) }) { _, last in last }
    machine = SchedulerMachine(registered: kinds, budget: budget)
    if let store {
      _ = try machine.handle(.restore(Self.load(store, kinds, wallClock(), logger)), at: time.now)
    }
    self.store = store
    self.time = time
    self.wallClock = wallClock
    self.logger = logger
    self.onEvent = onEvent
  }

  /// The system's wall clock, Unix milliseconds.
  public static let systemWallClock: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

  /// Schedules until the task is cancelled. What runs then is told, has the grace of the budget to end, and is pending
  /// again when it was not completed.
  /// - Throws: ``BackgroundTasksError`` with code `.busy` when it runs already or has run.
  public func run() async throws(BackgroundTasksError) {
    guard machine.stage == .launching else { throw BackgroundTasksError(.busy, "this scheduler has been run") }
    perform(.launch)
    let (cancellation, source) = BoundedStream.make(of: Void.self, limit: 1)
    for await _ in cancellation {}
    withExtendedLifetime(source) {}
    // In a task of its own: in the cancelled one nothing waits.
    await Task { await end() }.value
  }

  /// Asks for a run. When this returns, the request is on disk.
  /// - Throws: ``BackgroundTasksError`` with code `.notRegistered`, `.invalidArgument`, or `.storage`: nothing is
  ///   pending then that was not before.
  public func submit(_ request: BackgroundTaskRequest) throws(BackgroundTasksError) { try step(.submit(request)) }

  /// Takes back the pending request of a task. A run that has begun goes on.
  /// - Throws: ``BackgroundTasksError`` with code `.storage`.
  public func cancel(_ identifier: String) throws(BackgroundTasksError) { try step(.cancel(identifier)) }

  /// Takes back all pending requests.
  /// - Throws: ``BackgroundTasksError`` with code `.storage`.
  public func cancelAll() throws(BackgroundTasksError) { try step(.cancelAll) }

  /// Tells what the machine's state is now.
  public func update(_ conditions: BackgroundConditions) { perform(.conditions(conditions)) }

  /// Runs a task at once, whatever it requires: for people and tests.
  /// - Throws: ``BackgroundTasksError`` with code `.notRegistered` or `.busy`.
  public func runNow(_ identifier: String) throws(BackgroundTasksError) { try step(.runNow(identifier)) }

  /// Tells a task that runs to come to its end: for people and tests.
  /// - Throws: ``BackgroundTasksError`` with code `.notRunning`.
  public func expireNow(_ identifier: String) throws(BackgroundTasksError) { try step(.expireNow(identifier)) }

  /// What there is to do.
  public var snapshot: BackgroundTaskSnapshot {
    let now = time.now
    let pending = machine.pending.values.sorted { ($0.due, $0.request.identifier) < ($1.due, $1.request.identifier) }
    return BackgroundTaskSnapshot(
      registered: machine.registered.keys.sorted(),
      pending: pending.map {
        .init(request: $0.request, wait: max($0.due - now, .zero), obstacle: machine.obstacle(to: $0.request))
      },
      running: machine.current?.request.identifier, overdue: machine.overdue.keys.sorted(),
      isOnDisk: !isUnsaved,
      completed: counts.completed, failed: counts.failed)
  }

  private static func load(
    _ store: BackgroundTaskStore, _ kinds: [String: BackgroundTaskRequest.Kind], _ now: Int64, _ logger: Logger
  ) throws(BackgroundTasksError) -> [SchedulerMachine.Remembered] {
    let loaded = try store.load()
    if let problem = loaded.problem { logger.error("what was pending is lost", metadata: ["reason": "\(problem)"]) }
    for kept in loaded.tasks where kinds[kept.request.identifier] != kept.request.kind {
      logger.warning("there is no such task any more", metadata: ["task": "\(kept.request.identifier)"])
    }
    return loaded.tasks.map { .init($0.request, wait: $0.remaining(atMs: now)) }
  }

  private func end() async {
    perform(.shutDown)
    if machine.current != nil { await withCheckedContinuation { idle = $0 } }
    timer?.cancel()
    for (identifier, run) in machine.overdue {
      logger.error("a task does not end", metadata: ["task": "\(identifier)", "run": "\(run)"])
    }
  }

  /// Takes in what nobody waits for an answer to.
  private func perform(_ event: SchedulerMachine.Event) {
    do {
      try step(event)
    } catch {
      preconditionFailure("only a request of a caller is refused: \(error)")
    }
  }

  private func step(_ event: SchedulerMachine.Event) throws(BackgroundTasksError) {
    var next = machine
    let effects = try next.handle(event, at: time.now)
    try save(next, isAnswered: event.isAnswered)
    machine = next
    for effect in effects { perform(effect) }
    setTimer()
    if machine.current == nil, let waiting = idle {
      idle = nil
      waiting.resume()
    }
  }

  /// Writes what has to outlive the program, when that has changed.
  private func save(_ next: SchedulerMachine, isAnswered: Bool) throws(BackgroundTasksError) {
    let tasks = next.remembered
    guard let store, isUnsaved || tasks != machine.remembered else { return }
    let (now, wall) = (time.now, wallClock())
    do {
      try store.save(
        tasks.values.sorted { $0.request.identifier < $1.request.identifier }.map {
          .init(request: $0.request, dueMs: wall.clampedAdding(max($0.due - now, .zero).wholeMilliseconds))
        })
      isUnsaved = false
    } catch {
      if isAnswered { throw error }
      isUnsaved = true
      logger.error("what is pending is not on disk", metadata: ["reason": "\(error)"])
      onEvent(.notSaved(error))
    }
  }

  private func perform(_ effect: SchedulerMachine.Effect) {
    switch effect {
    case .begin(let run):
      let task = BackgroundTask(run, self)
      guard let handler = handlers[run.request.identifier] else {
        preconditionFailure("what is registered has a handler")
      }
      onEvent(.began(identifier: task.identifier, run: run.number))
      runs[run.number] = Task {
        do {
          try await handler(task)
          ended(run.number, .completed)
        } catch {
          ended(run.number, .failed("\(error)"))
        }
      }
    case .expire(let number, let reason):
      runs[number]?.cancel()
      if let run = machine.current {
        onEvent(.expired(identifier: run.request.identifier, run: number, reason))
      }
    case .record(let run, let outcome):
      if outcome == .completed { counts.completed += 1 } else { counts.failed += 1 }
      logger.info(
        "a background task has ended", metadata: ["task": "\(run.request.identifier)", "outcome": "\(outcome)"])
      onEvent(.ended(identifier: run.request.identifier, run: run.number, outcome))
    }
  }

  private func ended(_ number: Int, _ outcome: SchedulerMachine.Outcome) {
    runs[number] = nil
    perform(.ended(number, outcome))
  }

  private func setTimer() {
    timer?.cancel()
    guard let wake = machine.wake else { return }
    timer = Task {
      do {
        try await time.sleep(until: wake)
        perform(.timePassed)
      } catch {
        // Something else has happened first.
      }
    }
  }
}

extension SchedulerMachine.Event {
  /// Whether a caller waits to hear that it is on disk.
  fileprivate var isAnswered: Bool {
    switch self {
    case .submit, .cancel, .cancelAll, .runNow, .expireNow: true
    case .restore, .launch, .conditions, .shutDown, .ended, .timePassed: false
    }
  }
}

extension Int64 {
  fileprivate func clampedAdding(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}
