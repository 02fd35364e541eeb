public import BackgroundTasks

/// The background tasks of an EdgeCoder agent, with EdgeCoder's names for them.
public enum AgentTask: String, Sendable, Hashable, CaseIterable {
  /// A task that requests a heartbeat every 15 s until its time budget is used up.
  case runtime = "io.edgecoder.ios.runtime"
  /// A task that requests one heartbeat, when the runtime task has not run for 15 min.
  case heartbeat = "io.edgecoder.ios.heartbeat"

  /// The interval between heartbeats of the runtime task: 15 s.
  static let interval: Duration = .seconds(15)

  /// The scheduling class of the task.
  var kind: BackgroundTaskRequest.Kind { self == .runtime ? .processing : .refresh }

  /// The request when the program enters the background: the runtime after 1 s, the heartbeat after 15 min.
  var first: BackgroundTaskRequest {
    BackgroundTaskRequest(rawValue, kind, delay: self == .runtime ? .seconds(1) : .seconds(900))
  }

  /// The request for the next run, which each run submits when it starts.
  ///
  /// The runtime task's is due while it still runs, so that the next run follows at once; a run that fails at once is
  /// not repeated more often than every 15 s.
  var next: BackgroundTaskRequest {
    BackgroundTaskRequest(rawValue, kind, delay: self == .runtime ? Self.interval : .seconds(900))
  }
}

/// The status of a background task.
public struct AgentTaskStatus: Sendable, Hashable {
  /// The identifier of the task, the raw value of an ``AgentTask``.
  public var identifier: String
  /// The scheduling class of the task.
  public var kind: BackgroundTaskRequest.Kind
  /// A Boolean value that indicates whether the task runs.
  public var isRunning = false
  /// A Boolean value that indicates whether a run has not ended within its grace time.
  public var isOverdue = false
  /// The shortest time until the next run; `nil` if none is pending.
  public var wait: Duration?
  /// The condition that prevents the pending run, apart from its time and its turn; `nil` if there is none.
  public var obstacle: ExpirationReason?
  /// The number of completed runs since the start of the agent.
  public var completed = 0
  /// The number of runs that were not completed since the start of the agent.
  public var failed = 0
  /// The reason why the newest run was not completed; `nil` if it was, or there was none.
  public var problem: String?

  /// Creates the status of a task that never ran.
  public init(_ identifier: String, _ kind: BackgroundTaskRequest.Kind) {
    self.identifier = identifier
    self.kind = kind
  }
}

extension AgentStatus {
  /// A Boolean value that indicates whether background tasks are wanted, which is while something is offered.
  ///
  /// `nil` if that is unknown, because the agent has not started or is about to stop; nothing changes then.
  var wantsBackgroundTasks: Bool? {
    if mode == .off { return false }
    return switch runState {
    case .blocked: false
    case .stopped: nil
    case .starting, .running, .stopping, .failed: true
    }
  }

  /// The part of the status that decides what is pending and what may run.
  struct TaskDemand: Sendable, Hashable {
    let isWanted: Bool?
    let conditions: BackgroundConditions
  }

  /// The part of the status that decides what is pending and what may run.
  var taskDemand: TaskDemand { TaskDemand(isWanted: wantsBackgroundTasks, conditions: conditions) }

  /// The conditions under which a task may run.
  var conditions: BackgroundConditions {
    BackgroundConditions(
      isInBackground: lifecycle?.phase == .background, isGoingToSleep: lifecycle?.phase == .suspending,
      hasNetwork: network?.status == .satisfied, onExternalPower: power?.onExternalPower == true)
  }
}
