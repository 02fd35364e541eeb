/// The run of a task, as its handler sees it.
///
/// The handler's own task is cancelled when the run is to come to its end; what is then to be done is done at once,
/// before the handler returns or throws. Returning means that the work is done, throwing that it is not.
public struct BackgroundTask: Sendable {
  /// What runs.
  public let identifier: String
  /// Counts the runs since the program began, from 1.
  public let number: Int
  /// When the run loses its turn, as an instant of the scheduler's clock.
  public let end: Duration
  private let scheduler: BackgroundTaskScheduler

  init(_ run: SchedulerMachine.Run, _ scheduler: BackgroundTaskScheduler) {
    identifier = run.request.identifier
    number = run.number
    end = run.end
    self.scheduler = scheduler
  }

  /// Asks for a run to come: of this task again, or of another one.
  /// - Throws: ``BackgroundTasksError``.
  public func submit(_ request: BackgroundTaskRequest) async throws { try await scheduler.submit(request) }
}

/// A task there is a handler for.
public struct BackgroundTaskDefinition: Sendable {
  /// Does the work of one run.
  public typealias Handler = @Sendable (BackgroundTask) async throws -> Void

  /// Names the task; by custom in reverse domain notation, `org.example.app.refresh`.
  public let identifier: String
  /// What sort of work it does.
  public let kind: BackgroundTaskRequest.Kind
  let handler: Handler

  /// Defines a task.
  public init(_ identifier: String, _ kind: BackgroundTaskRequest.Kind, _ handler: @escaping Handler) {
    self.identifier = identifier
    self.kind = kind
    self.handler = handler
  }
}

/// Something that happened to a task, for a log and for counting.
public enum BackgroundTaskEvent: Sendable, Hashable {
  /// It began.
  case began(identifier: String, run: Int)
  /// It was told to come to its end.
  case expired(identifier: String, run: Int, ExpirationReason)
  /// It ended, or lost its turn.
  case ended(identifier: String, run: Int, SchedulerMachine.Outcome)
  /// What is pending could not be written to disk; it is tried again with the next change.
  case notSaved(BackgroundTasksError)
}

/// What a scheduler has to do, for a person.
public struct BackgroundTaskSnapshot: Sendable, Hashable {
  /// A request that waits.
  public struct Pending: Sendable, Hashable {
    /// What is to run.
    public var request: BackgroundTaskRequest
    /// How long it waits at least from now on.
    public var wait: Duration
    /// What keeps it from running, but for its time and its turn.
    public var obstacle: ExpirationReason?
  }

  /// The identifiers there are handlers for, sorted.
  public var registered: [String] = []
  /// What waits; what is due first comes first.
  public var pending: [Pending] = []
  /// What has the turn.
  public var running: String?
  /// What did not end in time and has not ended yet, sorted.
  public var overdue: [String] = []
  /// Whether all of this that has to outlive the program is on disk, where there is one.
  public var isOnDisk = true
  /// How many runs were completed.
  public var completed = 0
  /// How many runs ended otherwise.
  public var failed = 0
}
