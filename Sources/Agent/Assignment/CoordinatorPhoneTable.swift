internal import SystemState

/// The coordinator's own table for phones. It differs from ``FlowChart``: external power outweighs the battery, and on
/// battery tasks keep their distance.
public struct CoordinatorPhoneTable: Sendable, Hashable {
  /// At this level, in percent, and below it no work is given on battery.
  public let batteryStopLevel: Int
  /// How far apart two tasks are on battery, at least.
  public let batteryInterval: Duration

  /// Makes the table as the coordinator has it: 20 %, and 45 s.
  public init() { (batteryStopLevel, batteryInterval) = (20, .seconds(45)) }

  /// Makes the table with numbers of one's own, as the coordinator takes them from `IOS_BATTERY_TASK_STOP_LEVEL_PCT`
  /// and `IOS_BATTERY_PULL_MIN_INTERVAL_MS`.
  /// - Parameters:
  ///   - batteryStopLevel: percent, 0 to 100.
  ///   - batteryInterval: 0 or more.
  /// - Throws: ``AgentError`` with code `.invalidArgument`.
  public init(batteryStopLevel: Int, batteryInterval: Duration = .seconds(45)) throws(AgentError) {
    guard (0...100).contains(batteryStopLevel) else {
      throw AgentError(.invalidArgument, "a battery stop level is 0 to 100 %, not \(batteryStopLevel)")
    }
    guard batteryInterval >= .zero else { throw AgentError(.invalidArgument, "an interval is not negative") }
    self.batteryStopLevel = batteryStopLevel
    self.batteryInterval = batteryInterval
  }

  func decide(_ power: PowerTelemetry?, sinceLastTask: Duration?) -> AssignmentDecision {
    if power?.lowPowerMode == true { return .none(.iosLowPowerMode) }
    if power?.onExternalPower == true { return .all(.iosExternalPower) }
    if let level = power?.batteryLevelPct, level <= batteryStopLevel { return .none(.iosBatteryCritical) }
    if let sinceLastTask, sinceLastTask < batteryInterval { return .none(.iosOnBatteryThrottled) }
    return .coordinatorOnly(.iosOnBatteryLiteMode)
  }
}
