public import BackgroundTasks
public import Logging
public import Streams
public import SystemState
public import Timing

/// A service that schedules the background tasks of an EdgeCoder agent, see ``AgentTask``.
///
/// While something is offered and the agent is in the background, both tasks are pending or running. In the foreground
/// pending tasks wait. When nothing is offered, none is pending.
///
/// ```swift
/// let tasks = try AgentTasks(store: folder.tasks, sender: ModeHeartbeats(runner), log: runner.log)
/// try await tasks.run(following: runner)
/// ```
public actor AgentTasks {
  /// The settings of the service.
  public struct Options: Sendable {
    /// The activity that delays the sleep of the machine while a task runs; `nil` for no delay.
    public var activity: BackgroundActivity?
    /// The time budget of the tasks. The grace time is 3 s, less than the 5 s for which logind delays a sleep.
    public var budget = BackgroundTaskBudget(grace: .seconds(3))
    /// The delays before a write that failed is tried again: 1 s to 1 min by default.
    public var backoff = Backoff(base: .seconds(1), limit: .seconds(60), jitter: 0.5...1)
    /// The logger for failures of tasks.
    public var logger = Logger(label: "edgeblue.agent.tasks")

    /// The clock for delays and time budgets.
    public var time = TimeSource.continuous
    /// The wall clock, in milliseconds since 1970.
    package var wallClock = WallClock.unixMilliseconds
    /// A source of numbers from 0 to 1 for the jitter.
    package var random: @Sendable () -> Double = { .random(in: 0...1) }

    /// Creates settings with their defaults.
    public init() {}
  }

  /// The events of the tasks, for one reader.
  public nonisolated let events: BoundedStream<BackgroundTaskEvent>
  private let eventsSource: BoundedStream<BackgroundTaskEvent>.Source
  private let options: Options
  private let log: EventLog
  private let scheduler: BackgroundTaskScheduler
  /// The events of the scheduler.
  private let happened: BoundedStream<BackgroundTaskEvent>
  /// The wake-up of the loop that brings the pending tasks to the wanted ones.
  private let wake: WakeSignal
  /// The newest status of the agent; `nil` before the first.
  private let status: Lock<AgentStatus?>
  private var results: [AgentTaskStatus]
  private var savesFailed = 0
  private var retry: Task<Void, Never>?

  /// Restores the pending tasks; nothing runs before ``run(following:)``.
  /// - Parameters:
  ///   - store: The file of the pending requests.
  ///   - sender: The sender of heartbeats.
  ///   - log: The log for failures.
  ///   - options: The other settings.
  /// - Throws: ``AgentError`` with code `.storage` when the file exists and cannot be read.
  public init(
    store: BackgroundTaskStore, sender: any HeartbeatSender, log: EventLog, options: Options = Options()
  ) throws(AgentError) {
    let (happened, source) = BoundedStream.make(of: BackgroundTaskEvent.self, limit: 1024)
    let status = Lock<AgentStatus?>(nil)
    let wake = WakeSignal()
    let heartbeats = AgentHeartbeats(
      sender: sender, status: status, options: options, onRequest: { wake.signal() })
    var settings = BackgroundTaskScheduler.Options()
    settings.budget = options.budget
    settings.time = options.time
    settings.wallClock = options.wallClock
    settings.logger = options.logger
    do {
      scheduler = try BackgroundTaskScheduler(
        AgentTask.allCases.map { heartbeats.definition(of: $0) }, store: store, options: settings,
        onEvent: { source.yield($0) })
    } catch {
      throw AgentError(.storage, error.message, errno: error.errno, hint: error.hint)
    }
    (events, eventsSource) = BoundedStream.make(limit: 256)
    self.wake = wake
    results = AgentTask.allCases.map { AgentTaskStatus($0.rawValue, $0.kind) }
    self.options = options
    self.log = log
    self.happened = happened
    self.status = status
  }

  /// Schedules tasks until the task is cancelled or the agent has stopped. A run then expires, and has the grace time to
  /// end.
  /// - Parameter runner: The runner whose status decides what is pending.
  /// - Throws: `BackgroundTasksError` with code `.busy` when the service runs already or has run.
  public func run(following runner: ModeRunner) async throws {
    try await run(following: runner.statuses(changing: \.taskDemand))
  }

  func run(following statuses: BoundedStream<AgentStatus>) async throws {
    defer { retry?.cancel() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.scheduler.run() }
      group.addTask { for await event in self.happened { await self.take(event) } }
      group.addTask { for await _ in self.wake.signals { await self.settle() } }
      group.addTask { for await status in statuses { self.follow(status) } }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// The status of each task.
  public var tasks: [AgentTaskStatus] {
    get async {
      let snapshot = await scheduler.snapshot
      return results.map { task in
        var task = task
        let pending = snapshot.pending.first { $0.request.identifier == task.identifier }
        task.wait = pending?.wait
        task.obstacle = pending?.obstacle
        task.isRunning = snapshot.running == task.identifier
        task.isOverdue = snapshot.overdue.contains(task.identifier)
        return task
      }
    }
  }

  /// Runs a task at once, whatever its conditions.
  /// - Parameter identifier: The raw value of an ``AgentTask``.
  /// - Throws: `BackgroundTasksError` with code `.notRegistered` or `.busy`.
  public func runNow(_ identifier: String) async throws(BackgroundTasksError) {
    try await scheduler.runNow(identifier)
  }

  /// Expires a running task, as at the end of its time budget.
  /// - Parameter identifier: The raw value of an ``AgentTask``.
  /// - Throws: `BackgroundTasksError` with code `.notRunning`.
  public func expireNow(_ identifier: String) async throws(BackgroundTasksError) {
    try await scheduler.expireNow(identifier)
  }

  nonisolated func follow(_ new: AgentStatus) {
    status.withLock { $0 = new }
    wake.signal()
  }

  /// Submits or cancels requests until the pending tasks are the wanted ones.
  func settle() async {
    guard let status = status.withLock({ $0 }) else { return }
    await scheduler.update(status.conditions)
    do {
      switch status.wantsBackgroundTasks {
      case true?: if status.conditions.isInBackground { try await schedule() }
      case false?: try await cancel()
      case nil: break
      }
      if await scheduler.snapshot.isOnDisk { savesFailed = 0 }
    } catch {
      notSaved(error)
    }
  }

  private func schedule() async throws(BackgroundTasksError) {
    // Also of a task whose earlier run is overdue: the scheduler keeps the request until that run has ended, which is no
    // event that would wake this loop.
    let missing = await tasks.filter { $0.wait == nil && !$0.isRunning }
    for task in AgentTask.allCases where missing.contains(where: { $0.identifier == task.rawValue }) {
      try await scheduler.submit(task.first)
      log.append(.task, "\(task.rawValue) is pending, for the time in the background")
    }
  }

  private func cancel() async throws(BackgroundTasksError) {
    guard await !scheduler.snapshot.pending.isEmpty else { return }
    try await scheduler.cancelAll()
    log.append(.task, "no background task is pending any more: nothing is offered")
  }

  /// Reports the first of several failures in a row, and tries again after a delay.
  private func notSaved(_ error: BackgroundTasksError) {
    savesFailed += 1
    let due = options.time.now + options.backoff.delay(afterFailures: savesFailed, random: options.random())
    if savesFailed == 1 { log.append(.storage, "what is pending in the background is not on disk: \(error)") }
    retry?.cancel()
    retry = Task {
      do { try await options.time.sleep(until: due) } catch { return }
      wake.signal()
    }
  }

  private func take(_ event: BackgroundTaskEvent) {
    switch event {
    case .ended(let identifier, _, let outcome):
      if let place = results.firstIndex(where: { $0.identifier == identifier }) { count(outcome, &results[place]) }
    case .notSaved(let error): notSaved(error)
    case .began, .expired: break
    }
    eventsSource.yield(event)
    // A write that failed waits for its retry: at once it would fail again and again.
    if case .notSaved = event { return }
    wake.signal()
  }

  /// Counts a run. Only the first of equal failures in a row, and their end, are logged: each run would soon fill the
  /// log.
  private func count(_ outcome: SchedulerMachine.Outcome, _ task: inout AgentTaskStatus) {
    guard let problem = outcome.problem else {
      task.completed += 1
      if task.problem != nil { log.append(.task, "\(task.identifier) is completed again") }
      return task.problem = nil
    }
    task.failed += 1
    if task.problem != problem { log.append(.task, "\(task.identifier) has failed: \(problem)") }
    task.problem = problem
  }
}

extension SchedulerMachine.Outcome {
  /// The reason why the run was not completed; `nil` if it was.
  var problem: String? {
    switch self {
    case .completed: nil
    case .failed(let reason): reason
    case .overdue: "it did not end within its time budget"
    }
  }
}
