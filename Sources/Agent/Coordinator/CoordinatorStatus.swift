/// What is between this machine and its coordinator at one moment.
public struct CoordinatorStatus: Sendable, Hashable {
  /// Where the coordinator is.
  public var address: String
  /// This machine's name there.
  public var agentID: String
  /// Whether the coordinator knows this machine, as far as that is known.
  public var isRegistered: Bool
  /// When the coordinator took the last heartbeat: milliseconds since 1970; `nil` for never.
  public var lastHeartbeatAtMs: Int64?
  /// When the next one, or a registration, is due; `nil` when nothing is to be sent.
  public var nextHeartbeatAtMs: Int64?
  /// Why the last of them did not do, in words; `nil` when it did.
  public var problem: String?

  /// Whether a task is worked on.
  public var isWorking = false
  /// How many tasks were answered since the start.
  public var jobsDone = 0
  /// How many have failed.
  public var jobsFailed = 0
  /// How many results the coordinator will never take.
  public var resultsUnwanted = 0
  /// How many results the coordinator does not have yet.
  public var resultsWaiting = 0
  /// Why no work is asked for; `nil` when it is. An ``AssignmentReason``, one of the coordinator's, or one of
  /// <doc:WorkingForACoordinator>.
  public var heldBecause: String?
  /// How often that was so, by reason.
  public var dropReasons: [String: Int] = [:]

  /// Makes a status, for tests of what uses one.
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
