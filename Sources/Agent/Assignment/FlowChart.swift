internal import SystemState

/// The assignment policy of EdgeCoder's design document.
///
/// Work is held in low power mode and below a battery threshold, and accepted otherwise, also on battery.
///
/// ```swift
/// let chart = try FlowChart(batteryThreshold: 40)
/// let power = PowerTelemetry(onExternalPower: true, batteryLevelPct: 30, lowPowerMode: false, updatedAtMs: 0)
/// print(AssignmentPolicy.flowChart(chart).decide(.init(power: power)).allowsPeerWork)  // false
/// ```
public struct FlowChart: Sendable, Hashable {
  /// The battery level in percent below which work is held.
  public let batteryThreshold: Int

  /// Creates the chart with a threshold of 20 %, which is also the coordinator's.
  public init() { batteryThreshold = 20 }

  /// Creates the chart with another threshold.
  /// - Parameter batteryThreshold: The level in percent, 0 (never hold) to 100 (hold unless full).
  /// - Throws: ``AgentError`` with code `.invalidArgument`.
  public init(batteryThreshold: Int) throws(AgentError) {
    guard (0...100).contains(batteryThreshold) else {
      throw AgentError(.invalidArgument, "the battery threshold is \(batteryThreshold) %; allowed: 0 % to 100 %")
    }
    self.batteryThreshold = batteryThreshold
  }

  /// Returns the decision for a power supply.
  ///
  /// External power makes no difference, for work is accepted either way. An unknown or missing battery is no reason to
  /// hold: otherwise no board would ever work.
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
