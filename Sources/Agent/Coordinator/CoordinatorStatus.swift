/// The status of this machine at its coordinator.
public struct CoordinatorStatus: Sendable, Hashable {
  /// The address of the coordinator; empty for those who may not read it.
  public var address: String
  /// The identifier of this machine at the coordinator; empty for those who may not read it.
  public var agentID: String
  /// A Boolean value that indicates whether this machine is registered, as far as that is known.
  public var isRegistered: Bool
  /// The time of the last accepted heartbeat, in milliseconds since 1970; `nil` if there was none.
  public var lastHeartbeatAtMs: Int64?
  /// The time of the next heartbeat or registration, in milliseconds since 1970; `nil` if none is due.
  public var nextHeartbeatAtMs: Int64?
  /// The reason why the last of them failed, for display; `nil` if it was accepted.
  public var problem: String?
  /// The outages of the coordinator, and the time spent for it.
  public var health = Health()

  /// A Boolean value that indicates whether there is a task.
  public var isWorking = false
  /// The number of tasks that were answered since the start.
  public var jobsDone = 0
  /// The number of tasks that have failed since the start.
  public var jobsFailed = 0
  /// The number of tasks that were cancelled since the start, because this machine stopped working.
  public var jobsCancelled = 0
  /// The number of results that the coordinator rejected.
  public var resultsUnwanted = 0
  /// The number of results that the coordinator does not have yet.
  public var resultsWaiting = 0
  /// The reason why no work is requested; `nil` if it is.
  ///
  /// The raw value of an ``AssignmentReason``, a reason of the coordinator, or one in <doc:WorkingForACoordinator>.
  public var heldBecause: String?
  /// The number of times that work was held, by reason.
  public var dropReasons: [String: Int] = [:]

  /// The outages of the coordinator, and the time spent for it.
  public struct Health: Sendable, Hashable {
    /// The time since which the coordinator cannot be reached, in milliseconds since 1970; `nil` while it can, or before
    /// three requests in a row have failed.
    public var unreachableSinceMs: Int64?
    /// The reason why it cannot be reached; `nil` if there is none, or none was found.
    public var unreachableBecause: UnreachableReason?
    /// The number of heartbeats that failed since the start.
    public var heartbeatsFailed = 0
    /// The time spent on tasks since the start, in milliseconds.
    public var workedMs: Int64 = 0

    /// Creates the values of a coordinator that can be reached.
    public init() {}
  }

  /// Creates a status without any tasks or results.
  public init(
    address: String, agentID: String, isRegistered: Bool = false, lastHeartbeatAtMs: Int64? = nil,
    nextHeartbeatAtMs: Int64? = nil, problem: String? = nil
  ) {
    self.address = address
    self.agentID = agentID
    self.isRegistered = isRegistered
    self.lastHeartbeatAtMs = lastHeartbeatAtMs
    self.nextHeartbeatAtMs = nextHeartbeatAtMs
    self.problem = problem
  }
}

/// The reasons why a coordinator cannot be reached although there is a default route.
public enum UnreachableReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// A captive portal requires signing in.
  case portal
  /// The network leads to no server beyond it.
  case network
  /// Other servers can be reached.
  case coordinator

  /// The reason in words, for display.
  public var description: String {
    switch self {
    case .portal: "portal: the network requires signing in"
    case .network: "the network reaches no server"
    case .coordinator: "the coordinator does not answer, other servers do"
    }
  }
}
