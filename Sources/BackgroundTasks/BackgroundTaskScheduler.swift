public import ErrorReporting
public import Logging
internal import Streams
public import Timing

/// A scheduler that runs background tasks after their delays while their conditions hold.
///
/// Pending requests survive a restart and a crash. The scheduler resembles `BGTaskScheduler` of Apple's systems, with two
/// differences: an interrupted task (shutdown, foreground, lost network or power) is pending again, and the number of
/// runs a day is not limited. ``SchedulerMachine`` lists the rules.
///
/// ```swift
/// let tidy = BackgroundTaskDefinition("org.example.tidy", .processing) { _ in print("tidying") }
/// let scheduler = try BackgroundTaskScheduler([tidy], store: BackgroundTaskStore(path: "/var/lib/example/tasks.json"))
/// try await scheduler.submit(BackgroundTaskRequest(tidy.identifier, tidy.kind, delay: .seconds(60)))
/// await scheduler.update(BackgroundConditions(isInBackground: true))
/// try await scheduler.run()  // until the task is cancelled
/// ```
public actor BackgroundTaskScheduler {
  /// The settings of a scheduler.
  public struct Options: Sendable {
    /// The longest durations of runs, by kind of task.
    public var budget = BackgroundTaskBudget()
    /// The clock for delays and budgets.
    public var time = TimeSource.continuous
    /// The wall clock, in Unix milliseconds; it counts only for requests in the store.
    public var wallClock: @Sendable () -> Int64 = WallClock.unixMilliseconds
    /// The logger for finished runs and failures.
    public var logger = Logger(label: "edgeblue.background")

    /// Creates settings with their defaults.
    public init() {}
  }

  private let handlers: [String: BackgroundTaskDefinition.Handler]
  private let store: BackgroundTaskStore?
  private let options: Options
  private let onEvent: @Sendable (BackgroundTaskEvent) -> Void
  private var machine: SchedulerMachine
  private var runs: [Int: Task<Void, Never>] = [:]
  private var timer: Task<Void, Never>?
  private var isUnsaved = false
  private var counts = (completed: 0, failed: 0)
  /// Waits until nothing has the turn.
  private var idle: CheckedContinuation<Void, Never>?

  /// Creates a scheduler and loads the pending requests; nothing runs before ``run()``.
  /// - Parameters:
  ///   - tasks: All tasks. A request for another task is refused.
  ///   - store: The store of pending requests; `nil` to keep them in memory only.
  ///   - options: The other settings.
  ///   - onEvent: A closure that receives every event, in order; it must not block.
  /// - Throws: ``BackgroundTasksError`` with code `.storage` if the pending requests cannot be read.
  public init(
    _ tasks: [BackgroundTaskDefinition], store: BackgroundTaskStore?, options: Options = Options(),
    onEvent: @Sendable @escaping (BackgroundTaskEvent) -> Void = { _ in }
  ) throws(BackgroundTasksError) {
    handlers = Dictionary(tasks.map { ($0.identifier, $0.handler) }) { _, last in last }
    let kinds = Dictionary(tasks.map { ($0.identifier, $0.kind) }) { _, last in last }
    machine = SchedulerMachine(registered: kinds, budget: options.budget)
    if let store {
      let loaded = try Self.load(store, kinds, options.wallClock(), options.logger)
      _ = try machine.handle(.restore(loaded), at: options.time.now)
    }
    self.store = store
    self.options = options
    self.onEvent = onEvent
  }

  /// Runs tasks until the calling task is cancelled.
  ///
  /// A run in progress then expires, has the grace period to stop, and is pending again if it was not completed.
  /// - Throws: ``BackgroundTasksError`` with code `.busy` if the scheduler runs or has run.
  public func run() async throws(BackgroundTasksError) {
    guard machine.stage == .launching else { throw BackgroundTasksError(.busy, "this scheduler has been run") }
    perform(.launch)
    let (cancellation, source) = BoundedStream.make(of: Void.self, limit: 1)
    for await _ in cancellation {}
    withExtendedLifetime(source) {}
    // In a task of its own, because nothing waits in a cancelled one.
    await Task { await end() }.value
  }

  /// Submits a request, which is on disk when this returns.
  /// - Throws: ``BackgroundTasksError`` with code `.notRegistered`, `.invalidArgument` or `.storage`; the pending requests
  ///   are then unchanged.
  public func submit(_ request: BackgroundTaskRequest) throws(BackgroundTasksError) { try step(.submit(request)) }

  /// Removes the pending request of a task; a run in progress continues.
  /// - Throws: ``BackgroundTasksError`` with code `.storage`.
  public func cancel(_ identifier: String) throws(BackgroundTasksError) { try step(.cancel(identifier)) }

  /// Removes the pending requests of all tasks.
  /// - Throws: ``BackgroundTasksError`` with code `.storage`.
  public func cancelAll() throws(BackgroundTasksError) { try step(.cancelAll) }

  /// Sets the present conditions of the host.
  public func update(_ conditions: BackgroundConditions) { perform(.conditions(conditions)) }

  /// Runs a task at once without regard to its conditions, for users and tests.
  /// - Throws: ``BackgroundTasksError`` with code `.notRegistered` or `.busy`.
  public func runNow(_ identifier: String) throws(BackgroundTasksError) { try step(.runNow(identifier)) }

  /// Expires the run of a task, for users and tests.
  /// - Throws: ``BackgroundTasksError`` with code `.notRunning`.
  public func expireNow(_ identifier: String) throws(BackgroundTasksError) { try step(.expireNow(identifier)) }

  /// A snapshot of the pending and running tasks.
  public var snapshot: BackgroundTaskSnapshot {
    let now = options.time.now
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
    if let problem = loaded.problem { logger.error("pending requests lost", metadata: ["reason": "\(problem)"]) }
    for kept in loaded.tasks where kinds[kept.request.identifier] != kept.request.kind {
      logger.warning("pending request of an unknown task dropped", metadata: ["task": "\(kept.request.identifier)"])
    }
    return loaded.tasks.map { .init($0.request, wait: $0.remaining(atMs: now)) }
  }

  private func end() async {
    perform(.shutDown)
    if machine.current != nil { await withCheckedContinuation { idle = $0 } }
    timer?.cancel()
    for (identifier, run) in machine.overdue {
      options.logger.error("overdue task still running", metadata: ["task": "\(identifier)", "run": "\(run)"])
    }
  }

  /// Handles an event that cannot be refused.
  private func perform(_ event: SchedulerMachine.Event) {
    do {
      try step(event)
    } catch {
      preconditionFailure("only a request of a caller is refused: \(error)")
    }
  }

  private func step(_ event: SchedulerMachine.Event) throws(BackgroundTasksError) {
    var next = machine
    let actions = try next.handle(event, at: options.time.now)
    try save(next, isAnswered: event.isAnswered)
    machine = next
    for action in actions { perform(action) }
    setTimer()
    if machine.current == nil, let waiting = idle {
      idle = nil
      waiting.resume()
    }
  }

  /// Writes the requests that must survive the process, if they have changed.
  private func save(_ next: SchedulerMachine, isAnswered: Bool) throws(BackgroundTasksError) {
    let tasks = next.remembered
    guard let store, isUnsaved || tasks != machine.remembered else { return }
    let now = options.time.now
    let wall = options.wallClock()
    do {
      try store.save(
        tasks.values.sorted { $0.request.identifier < $1.request.identifier }.map {
          .init(request: $0.request, dueMs: wall.addingClamped(max($0.due - now, .zero).milliseconds(rounded: .up)))
        })
      isUnsaved = false
    } catch {
      if isAnswered { throw error }
      isUnsaved = true
      options.logger.error("pending requests not saved", metadata: ["reason": "\(error)"])
      onEvent(.notSaved(error))
    }
  }

  private func perform(_ action: SchedulerMachine.Action) {
    switch action {
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
          ended(run.number, .failed(error.safeText))
        }
      }
    case .expire(let number, let reason):
      runs[number]?.cancel()
      if let run = machine.current {
        onEvent(.expired(identifier: run.request.identifier, run: number, reason))
      }
    case .record(let run, let outcome):
      if outcome == .completed { counts.completed += 1 } else { counts.failed += 1 }
      options.logger.info(
        "background task finished", metadata: ["task": "\(run.request.identifier)", "outcome": "\(outcome)"])
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
        try await options.time.sleep(until: wake)
        perform(.timePassed)
      } catch {
        // Something else has happened first.
      }
    }
  }
}

extension SchedulerMachine.Event {
  /// A Boolean value that indicates whether a caller waits until the change is on disk.
  fileprivate var isAnswered: Bool {
    switch self {
    case .submit, .cancel, .cancelAll, .runNow, .expireNow: true
    case .restore, .launch, .conditions, .shutDown, .ended, .timePassed: false
    }
  }
}
