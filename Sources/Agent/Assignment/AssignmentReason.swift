/// Why work is given, or held back. The raw value is for metrics and programs; those of the coordinator's table are the
/// coordinator's own.
public enum AssignmentReason: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  // The flow chart.
  /// Nothing speaks against it.
  case powerSuffices = "power_suffices"
  /// Power is to be saved.
  case lowPowerMode = "low_power_mode"
  /// The battery is below the threshold.
  case batteryBelowThreshold = "battery_below_threshold"

  // The coordinator's table, phones.
  /// A phone in its low power mode.
  case iosLowPowerMode = "ios_low_power_mode"
  /// A phone on external power, however full its battery.
  case iosExternalPower = "ios_external_power"
  /// A phone whose battery is nearly empty.
  case iosBatteryCritical = "ios_battery_critical"
  /// A phone on battery that had a task a moment ago.
  case iosOnBatteryThrottled = "ios_on_battery_throttled"
  /// A phone on battery: the coordinator's tasks only.
  case iosOnBatteryLiteMode = "ios_on_battery_lite_mode"

  // The coordinator's table, other machines.
  /// A server.
  case serverUnlimited = "server_unlimited"
  /// The processor is busy.
  case highCPUDefer = "high_cpu_defer"
  /// The machine is too hot.
  case thermalThrottle = "thermal_throttle"
  /// A desktop, or a laptop at the mains.
  case desktopACPower = "desktop_ac_power"
  /// A laptop whose battery is nearly empty.
  case laptopBatteryCritical = "laptop_battery_critical"
  /// A laptop on a battery that is less than half full: small tasks only.
  case laptopBatteryLow = "laptop_battery_low"
  /// A laptop on a good battery: the coordinator's tasks only.
  case laptopBatteryHigh = "laptop_battery_high"

  /// The reason in words, for a person.
  public var description: String {
    switch self {
    case .powerSuffices: "power suffices"
    case .lowPowerMode, .iosLowPowerMode: "power is to be saved"
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
