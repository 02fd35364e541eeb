/// The evidence for or against external power.
public enum ExternalPower: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// A power supply is online, so the host is on external power.
  case supply
  /// A battery is charging or, where no supply is listed, full and not discharging; the host is on external power.
  case charging
  /// The host has no battery, so it is on external power, like most boards.
  case noBattery
  /// The host has a battery, and no sign of external power.
  case battery

  /// A Boolean value that indicates whether the host is on external power.
  public var isOn: Bool { self != .battery }

  /// The evidence for display, such as "a power supply is connected".
  public var description: String {
    switch self {
    case .supply: "a power supply is connected"
    case .charging: "the battery is being charged, or full"
    case .noBattery: "there is no battery"
    case .battery: "no power supply is connected"
    }
  }
}
