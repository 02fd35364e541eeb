public import BackgroundTasks

/// The background tasks of an EdgeCoder machine, by EdgeCoder's names for them.
public enum AgentTask: String, Sendable, Hashable, CaseIterable {
  /// Asks for a heartbeat every 15 s, for as long as its time lasts.
  case runtime = "io.edgecoder.ios.runtime"
  /// Asks for one heartbeat, when the runtime has not run for a quarter of an hour.
  case heartbeat = "io.edgecoder.ios.heartbeat"

  /// From one heartbeat of the runtime to the next: 15 s.
  static let interval: Duration = .seconds(15)

  /// What sort of work it does.
  var kind: BackgroundTaskRequest.Kind { self == .runtime ? .processing : .refresh }

  /// The request when the program has come to the background: the runtime after 1 s, the heartbeat after 15 min.
  var first: BackgroundTaskRequest {
    BackgroundTaskRequest(rawValue, kind, delay: self == .runtime ? .seconds(1) : .seconds(900))
  }

  /// The request by which a run that begins asks for the next one. The runtime's is due while it still runs, so that it
  /// goes on at once when its time is over; and one that fails at once is not run more often than every 15 s.
  var next: BackgroundTaskRequest {
    BackgroundTaskRequest(rawValue, kind, delay: self == .runtime ? Self.interval : .seconds(900))
  }
}

/// What there is to say of a background task, for a person.
public struct AgentTaskStatus: Sendable, Hashable {
  /// The task's name.
  public var identifier: String
  /// What sort of work it does.
  public var kind: BackgroundTaskRequest.Kind
  /// Whether it runs.
  public var isRunning = false
  /// Whether it was to end and has not.
  public var isOverdue = false
  /// How long it waits for its next run, at least; `nil` when none is pending.
  public var wait: Duration?
  /// What keeps the pending run from beginning, but for its time and its turn; `nil` when nothing does.
  public var obstacle: ExpirationReason?
  /// How many runs were completed since the agent was started.
  public var completed = 0
  /// How many runs ended otherwise.
  public var failed = 0
  /// Why the newest run was not completed, in words; `nil` when it was, or there was none.
  public var problem: String?

  /// Makes a status, for tests of what uses one.
  public init(_ identifier: String, _ kind: BackgroundTaskRequest.Kind) {
    self.identifier = identifier
    self.kind = kind
  }
}

extension AgentStatus {
  /// Whether background tasks are wanted: while something is offered. `nil` when that is not known, because the agent
  /// has not begun or is about to end; what was, is so.
  var wantsBackgroundTasks: Bool? {
    if mode == .off { return false }
    return switch runState {
    case .blocked: false
    case .stopped: nil
    case .starting, .running, .stopping, .failed: true
    }
  }

  /// What decides whether a task may run.
  var conditions: BackgroundConditions {
    BackgroundConditions(
      isInBackground: lifecycle?.phase == .background, isGoingToSleep: lifecycle?.phase == .suspending,
      hasNetwork: network?.status == .satisfied, onExternalPower: power?.onExternalPower == true)
  }
}
