/// Whether this machine takes work, which work, and why.
public struct AssignmentDecision: Sendable, Hashable {
  /// A piece of work that is offered.
  public enum Work: Sendable, Hashable {
    /// A task of the coordinator's, with the time it may take.
    case coordinatorTask(timeLimit: Duration)
    /// Work another machine asks for directly, such as a prompt over Bluetooth.
    case peerWork
  }

  /// Why a piece of work is not taken now.
  public struct Hold: Sendable, Hashable {
    /// The reason.
    public var reason: AssignmentReason
    /// When to ask again, if that is known.
    public var retryAfter: Duration?

    /// Makes a hold.
    public init(_ reason: AssignmentReason, retryAfter: Duration? = nil) {
      self.reason = reason
      self.retryAfter = retryAfter
    }
  }

  /// The most time a small task may take: the coordinator's 10 s.
  public static let smallTaskLimit: Duration = .seconds(10)

  /// Whether tasks of the coordinator are taken.
  public var allowsCoordinatorTasks: Bool
  /// Whether work is taken that another machine asks for directly.
  public var allowsPeerWork: Bool
  /// Why.
  public var reason: AssignmentReason
  /// How long the coordinator's tasks wait all the same.
  public var deferral: Duration?
  /// Whether, of the coordinator's tasks, only those are taken that end within ``smallTaskLimit``.
  public var allowsSmallTasksOnly: Bool

  /// Makes a decision.
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

  /// Why a piece of work is to be held; `nil` when it is to be taken.
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
