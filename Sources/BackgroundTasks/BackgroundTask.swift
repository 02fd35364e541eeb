/// A run of a background task, passed to its handler.
///
/// The Swift task of the handler is cancelled when the run expires; the handler then has the grace period to clean up.
/// Returning means that the work is done, throwing that it is not.
///
/// ```swift
/// let refresh = BackgroundTaskDefinition("org.example.refresh", .refresh) { run in
///   try await run.submit(BackgroundTaskRequest(run.identifier, .refresh, delay: .seconds(900)))
///   print("run", run.number)
/// }
/// ```
public struct BackgroundTask: Sendable {
  /// The identifier of the task.
  public let identifier: String
  /// The number of the run since the process started, from 1.
  public let number: Int
  /// The deadline of the run, as an instant of the scheduler's clock.
  public let end: Duration
  private let scheduler: BackgroundTaskScheduler

  init(_ run: SchedulerMachine.Run, _ scheduler: BackgroundTaskScheduler) {
    identifier = run.request.identifier
    number = run.number
    end = run.end
    self.scheduler = scheduler
  }

  /// Submits a request for a later run of this task or of another one.
  /// - Throws: ``BackgroundTasksError``, as ``BackgroundTaskScheduler/submit(_:)``.
  public func submit(_ request: BackgroundTaskRequest) async throws { try await scheduler.submit(request) }
}

/// A task with the handler that does its work.
///
/// ```swift
/// let tidy = BackgroundTaskDefinition("org.example.tidy", .processing) { _ in
///   print("tidying")
/// }
/// ```
public struct BackgroundTaskDefinition: Sendable {
  /// The closure that does the work of one run.
  public typealias Handler = @Sendable (BackgroundTask) async throws -> Void

  /// The identifier of the task, by convention in reverse domain notation: `org.example.app.refresh`.
  public let identifier: String
  /// The kind of work, which determines the time budget.
  public let kind: BackgroundTaskRequest.Kind
  let handler: Handler

  /// Creates a task from its identifier, kind and handler.
  public init(_ identifier: String, _ kind: BackgroundTaskRequest.Kind, _ handler: @escaping Handler) {
    self.identifier = identifier
    self.kind = kind
    self.handler = handler
  }
}

/// An event of a task, for logs and counters.
public enum BackgroundTaskEvent: Sendable, Hashable {
  /// A run of the task has started.
  case began(identifier: String, run: Int)
  /// A run of the task has expired and must stop.
  case expired(identifier: String, run: Int, ExpirationReason)
  /// A run of the task has finished, or exceeded its deadline.
  case ended(identifier: String, run: Int, SchedulerMachine.Outcome)
  /// The pending requests could not be written to disk; the next change retries that.
  case notSaved(BackgroundTasksError)
}

/// A snapshot of the tasks of a scheduler, for display.
public struct BackgroundTaskSnapshot: Sendable, Hashable {
  /// A request that waits to run.
  public struct Pending: Sendable, Hashable {
    /// The request that waits to run.
    public var request: BackgroundTaskRequest
    /// The shortest time from now on before the task may run.
    public var wait: Duration
    /// The unmet condition that keeps the task from running; `nil` if only its delay and other tasks do.
    public var obstacle: ExpirationReason?
  }

  /// The identifiers of all tasks, sorted.
  public var registered: [String] = []
  /// The requests that wait, the one that is due first first.
  public var pending: [Pending] = []
  /// The identifier of the running task.
  public var running: String?
  /// The identifiers of tasks that exceeded their deadline and still run, sorted.
  public var overdue: [String] = []
  /// A Boolean value that indicates whether the pending requests are on disk; `true` without a store.
  public var isOnDisk = true
  /// The number of runs that were completed.
  public var completed = 0
  /// The number of runs that failed or exceeded their deadline.
  public var failed = 0
}
