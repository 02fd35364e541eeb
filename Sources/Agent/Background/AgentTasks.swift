public import BackgroundTasks
public import Logging
public import Streams
public import SystemState
public import Timing

/// Runs the background tasks of an EdgeCoder machine: see ``AgentTask``.
///
/// While something is offered and the agent is in the background, both are pending or running. In the foreground what is
/// pending waits. When nothing is offered, none is pending.
public actor AgentTasks {
  /// What the tasks work with.
  public struct Options: Sendable {
    /// Has the sleep of the machine wait while a task runs; `nil` for not.
    public var activity: BackgroundActivity?
    /// How long tasks may take. The grace is 3 s: less than the 5 s for which logind delays a sleep.
    public var budget = BackgroundTaskBudget(grace: .seconds(3))
    /// When something is tried again that could not be written to disk.
    public var backoff = Backoff(base: .seconds(1), limit: .seconds(60), jitter: 0.5...1)
    /// Gets what goes wrong.
    public var logger = Logger(label: "edgeblue.agent.tasks")

    /// The clock.
    public var time = TimeSource.continuous
    /// Unix milliseconds.
    package var wallClock = WallClock.unixMilliseconds
    /// 0 to 1.
    package var random: @Sendable () -> Double = { .random(in: 0...1) }

    /// The defaults.
    public init() {}
  }

  /// What happens to the tasks; one reader.
  public nonisolated let events: BoundedStream<BackgroundTaskEvent>
  private let eventsSource: BoundedStream<BackgroundTaskEvent>.Source
  private let options: Options
  private let log: EventLog
  private let scheduler: BackgroundTaskScheduler
  /// What the scheduler tells.
  private let happened: BoundedStream<BackgroundTaskEvent>
  /// Something may be to do.
  private let news: BoundedStream<Void>
  private let newsSource: BoundedStream<Void>.Source
  /// What the agent does; `nil` before it is known.
  private let status: Lock<AgentStatus?>
  private var results: [AgentTaskStatus]
  private var savesFailed = 0
  private var retry: Task<Void, Never>?

  /// Takes up what was pending; nothing runs before ``run(following:)``.
  /// - Parameters:
  ///   - store: where pending requests are kept.
  ///   - sender: what is asked for heartbeats.
  ///   - log: where failures are told.
  ///   - options: everything else.
  /// - Throws: ``AgentError`` with code `.storage`, when what was pending is there and cannot be read.
  public init(
    store: BackgroundTaskStore, sender: any HeartbeatSender, log: EventLog, options: Options = Options()
  ) throws(AgentError) {
    let (happened, source) = BoundedStream.make(of: BackgroundTaskEvent.self, limit: 1024)
    let status = Lock<AgentStatus?>(nil)
    let (news, newsSource) = BoundedStream.make(of: Void.self, limit: 1)
    let heartbeats = AgentHeartbeats(
      sender: sender, status: status, options: options, onRequest: { newsSource.yield(()) })
    do {
      scheduler = try BackgroundTaskScheduler(
        AgentTask.allCases.map { heartbeats.definition(of: $0) }, store: store, budget: options.budget,
        time: options.time, wallClock: options.wallClock, logger: options.logger, onEvent: { source.yield($0) })
    } catch {
      throw AgentError(.storage, error.message, errno: error.errno, hint: error.hint)
    }
    (events, eventsSource) = BoundedStream.make(limit: 256)
    (self.news, self.newsSource) = (news, newsSource)
    results = AgentTask.allCases.map { AgentTaskStatus($0.rawValue, $0.kind) }
    (self.options, self.log, self.happened, self.status) = (options, log, happened, status)
  }

  /// Schedules until the task is cancelled or the agent has ended; what runs then is told and gets the grace to end.
  /// - Parameter statuses: what the agent does, of a ``ModeRunner``.
  /// - Throws: `BackgroundTasksError` with code `.busy` when it runs already or has run.
  public func run(following statuses: BoundedStream<AgentStatus>) async throws {
    defer { retry?.cancel() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.scheduler.run() }
      group.addTask { for await event in self.happened { await self.take(event) } }
      group.addTask { for await _ in self.news { await self.settle() } }
      group.addTask { for await status in statuses { self.follow(status) } }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Every task, and how it goes.
  public var tasks: [AgentTaskStatus] {
    get async {
      let snapshot = await scheduler.snapshot
      return results.map { task in
        var task = task
        let pending = snapshot.pending.first { $0.request.identifier == task.identifier }
        (task.wait, task.obstacle) = (pending?.wait, pending?.obstacle)
        task.isRunning = snapshot.running == task.identifier
        task.isOverdue = snapshot.overdue.contains(task.identifier)
        return task
      }
    }
  }

  /// Runs a task at once, whatever it requires: for people and tests.
  /// - Throws: `BackgroundTasksError` with code `.notRegistered` or `.busy`.
  public func runNow(_ identifier: String) async throws(BackgroundTasksError) {
    try await scheduler.runNow(identifier)
  }

  /// Tells a task that runs to come to its end: for people and tests.
  /// - Throws: `BackgroundTasksError` with code `.notRunning`.
  public func expireNow(_ identifier: String) async throws(BackgroundTasksError) {
    try await scheduler.expireNow(identifier)
  }

  nonisolated func follow(_ new: AgentStatus) {
    status.withLock { $0 = new }
    newsSource.yield(())
  }

  /// Brings what is pending to what is wanted.
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
    let missing = await tasks.filter { $0.wait == nil && !$0.isRunning && !$0.isOverdue }
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

  /// The same again is not told again; it is tried again after a while.
  private func notSaved(_ error: BackgroundTasksError) {
    savesFailed += 1
    let due = options.time.now + options.backoff.delay(afterFailures: savesFailed, random: options.random())
    if savesFailed == 1 { log.append(.storage, "what is pending in the background is not on disk: \(error)") }
    retry?.cancel()
    retry = Task {
      do { try await options.time.sleep(until: due) } catch { return }
      newsSource.yield(())
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
    // What could not be saved waits for its retry: at once it would fail again, and again.
    if case .notSaved = event { return }
    newsSource.yield(())
  }

  /// A failure is told once, and that it is over; runs that are as they should be would soon fill the log.
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
  /// Why the run was not completed, in words; `nil` when it was.
  var problem: String? {
    switch self {
    case .completed: nil
    case .failed(let reason): reason
    case .overdue: "it had not ended when its time was over"
    }
  }
}
