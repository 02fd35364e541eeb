internal import SystemState

/// The flow chart of EdgeCoder's design document.
public struct FlowChart: Sendable, Hashable {
  /// The least a battery may have, in percent: work is held below it.
  public let batteryThreshold: Int

  /// Makes the chart with a threshold of 20 %, where the coordinator stops as well.
  public init() { batteryThreshold = 20 }

  /// Makes the chart with a threshold of one's own.
  /// - Parameter batteryThreshold: percent, 0 (never hold) to 100 (hold unless full).
  /// - Throws: ``AgentError`` with code `.invalidArgument`.
  public init(batteryThreshold: Int) throws(AgentError) {
    guard (0...100).contains(batteryThreshold) else {
      throw AgentError(.invalidArgument, "a battery threshold is 0 to 100 %, not \(batteryThreshold)")
    }
    self.batteryThreshold = batteryThreshold
  }

  /// The chart asks for external power last, and takes work either way. A battery that is unknown, or not there, is no
  /// reason to hold: otherwise no board would ever work.
  func decide(_ power: PowerTelemetry?) -> AssignmentDecision {
    if power?.lowPowerMode == true { return .none(.lowPowerMode) }
    if let level = power?.batteryLevelPct, level < batteryThreshold { return .none(.batteryBelowThreshold) }
    return .all(.powerSuffices)
  }
}

extension AssignmentDecision {
  static func none(_ reason: AssignmentReason) -> Self { Self(coordinatorTasks: false, peerWork: false, reason) }
  static func all(_ reason: AssignmentReason) -> Self { Self(coordinatorTasks: true, peerWork: true, reason) }
  static func coordinatorOnly(_ reason: AssignmentReason) -> Self {
    Self(coordinatorTasks: true, peerWork: false, reason)
  }
}
