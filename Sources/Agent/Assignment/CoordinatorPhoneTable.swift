internal import SystemState

/// The coordinator's own table for phones.
///
/// It differs from ``FlowChart`` in two rules: external power outweighs the battery level, and on battery there is a
/// minimum interval between tasks.
///
/// ```swift
/// let table = try CoordinatorPhoneTable(batteryStopLevel: 30, batteryInterval: .seconds(60))
/// let policy = AssignmentPolicy.coordinatorPhone(table)
/// print(policy.decide(.init(power: nil, sinceLastTask: .seconds(5))).reason)
/// ```
public struct CoordinatorPhoneTable: Sendable, Hashable {
  /// The highest battery level in percent at which no work is accepted on battery.
  public let batteryStopLevel: Int
  /// The shortest interval between two tasks on battery.
  public let batteryInterval: Duration

  /// Creates the table with the coordinator's defaults: 20 % and 45 s.
  public init() {
    batteryStopLevel = 20
    batteryInterval = .seconds(45)
  }

  /// Creates the table with other limits, as the coordinator reads them from `IOS_BATTERY_TASK_STOP_LEVEL_PCT` and
  /// `IOS_BATTERY_PULL_MIN_INTERVAL_MS`.
  /// - Parameters:
  ///   - batteryStopLevel: The level in percent, 0 to 100.
  ///   - batteryInterval: The interval, 0 s or more.
  /// - Throws: ``AgentError`` with code `.invalidArgument`.
  public init(batteryStopLevel: Int, batteryInterval: Duration = .seconds(45)) throws(AgentError) {
    guard (0...100).contains(batteryStopLevel) else {
      throw AgentError(.invalidArgument, "the battery stop level is \(batteryStopLevel) %; allowed: 0 % to 100 %")
    }
    guard batteryInterval >= .zero else {
      throw AgentError(.invalidArgument, "the battery interval is \(batteryInterval); allowed: 0 s or more")
    }
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
