/// A reason why work is accepted or held back.
///
/// The raw value is for metrics and programs; the values of the coordinator's tables are the coordinator's own.
public enum AssignmentReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  // The flow chart.
  /// The power supply suffices for work.
  case powerSuffices = "power_suffices"
  /// The machine is in low power mode.
  case lowPowerMode = "low_power_mode"
  /// The battery is below the threshold.
  case batteryBelowThreshold = "battery_below_threshold"

  // The coordinator's table, phones.
  /// The phone is in low power mode.
  case iosLowPowerMode = "ios_low_power_mode"
  /// The phone is on external power, whatever its battery level.
  case iosExternalPower = "ios_external_power"
  /// The phone's battery is nearly empty.
  case iosBatteryCritical = "ios_battery_critical"
  /// The phone is on battery, and its last task was a moment ago.
  case iosOnBatteryThrottled = "ios_on_battery_throttled"
  /// The phone is on battery and accepts only the coordinator's tasks.
  case iosOnBatteryLiteMode = "ios_on_battery_lite_mode"

  // The coordinator's table, other machines.
  /// The machine is a server, which always accepts work.
  case serverUnlimited = "server_unlimited"
  /// The processor is busy, and tasks are delayed.
  case highCPUDefer = "high_cpu_defer"
  /// The machine is too hot for work.
  case thermalThrottle = "thermal_throttle"
  /// The machine is a desktop, or a laptop on external power.
  case desktopACPower = "desktop_ac_power"
  /// The laptop's battery is nearly empty.
  case laptopBatteryCritical = "laptop_battery_critical"
  /// The laptop's battery is at 40 % or less, and only small tasks are accepted.
  case laptopBatteryLow = "laptop_battery_low"
  /// The laptop is on a good battery and accepts only the coordinator's tasks.
  case laptopBatteryHigh = "laptop_battery_high"

  /// The reason in words, for display.
  public var description: String {
    switch self {
    case .powerSuffices: "power suffices"
    case .lowPowerMode, .iosLowPowerMode: "the machine is in low power mode"
    case .batteryBelowThreshold: "the battery is below the threshold"
    case .iosExternalPower, .desktopACPower: "on external power"
    case .iosBatteryCritical, .laptopBatteryCritical: "the battery is nearly empty"
    case .iosOnBatteryThrottled: "on battery, and the last task was a moment ago"
    case .iosOnBatteryLiteMode, .laptopBatteryHigh: "on battery: the coordinator's tasks only"
    case .serverUnlimited: "a server"
    case .highCPUDefer: "the processor is busy"
    case .thermalThrottle: "the machine is too hot"
    case .laptopBatteryLow: "the battery is low: small tasks only"
    }
  }
}
