/// A decision which work this machine accepts at present, with the reason.
///
/// ```swift
/// let power = PowerTelemetry(onExternalPower: false, batteryLevelPct: 12, lowPowerMode: false, updatedAtMs: 0)
/// let decision = AssignmentPolicy.flowChart(FlowChart()).decide(.init(power: power))
/// if let hold = decision.hold(.peerWork) {
///   print(hold.reason)  // the battery is below the threshold
/// }
/// ```
public struct AssignmentDecision: Sendable, Hashable {
  /// The kinds of work that are offered to this machine.
  public enum Work: Sendable, Hashable {
    /// A task of the coordinator, with its time limit.
    case coordinatorTask(timeLimit: Duration)
    /// A direct request of another machine, such as a prompt over Bluetooth.
    case peerWork
  }

  /// The reason why work is not accepted now, and the delay until it may be.
  public struct Hold: Sendable, Hashable {
    /// The reason of the hold.
    public var reason: AssignmentReason
    /// The delay after which the work may be accepted; `nil` if it is unknown.
    public var retryAfter: Duration?

    /// Creates a hold from its parts.
    public init(_ reason: AssignmentReason, retryAfter: Duration? = nil) {
      self.reason = reason
      self.retryAfter = retryAfter
    }
  }

  /// The longest time limit of a small task: 10 s, as the coordinator has it.
  public static let smallTaskLimit: Duration = .seconds(10)

  /// A Boolean value that indicates whether tasks of the coordinator are accepted.
  public var allowsCoordinatorTasks: Bool
  /// A Boolean value that indicates whether direct requests of other machines are accepted.
  public var allowsPeerWork: Bool
  /// The reason of the decision.
  public var reason: AssignmentReason
  /// The delay of the coordinator's tasks, although they are accepted; `nil` for none.
  public var deferral: Duration?
  /// A Boolean value that indicates whether only tasks with a limit of up to ``smallTaskLimit`` are accepted.
  public var allowsSmallTasksOnly: Bool

  /// Creates a decision from its parts.
  public init(
    coordinatorTasks: Bool, peerWork: Bool, _ reason: AssignmentReason, deferral: Duration? = nil,
    smallTasksOnly: Bool = false
  ) {
    allowsCoordinatorTasks = coordinatorTasks
    allowsPeerWork = peerWork
    self.reason = reason
    self.deferral = deferral
    allowsSmallTasksOnly = smallTasksOnly
  }

  /// Returns the reason why the work has to wait, or `nil` if it is accepted.
  public func hold(_ work: Work) -> Hold? {
    switch work {
    case .peerWork: return allowsPeerWork ? nil : Hold(reason)
    case .coordinatorTask(let timeLimit):
      if !allowsCoordinatorTasks { return Hold(reason) }
      if let deferral, deferral > .zero { return Hold(reason, retryAfter: deferral) }
      return allowsSmallTasksOnly && timeLimit > Self.smallTaskLimit ? Hold(reason) : nil
    }
  }
}
