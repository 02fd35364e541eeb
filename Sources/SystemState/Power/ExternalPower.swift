/// Whether power comes from outside, and how that is known.
public enum ExternalPower: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// It does: a supply is online.
  case supply
  /// It does: a battery is charged or, where no supply is listed that could say more, is full and not discharged.
  case charging
  /// It does: there is no battery, so whatever the machine runs on comes from outside. That is most boards.
  case noBattery
  /// It does not: there is a battery, and nothing says that power comes from elsewhere.
  case battery

  /// Whether power comes from outside.
  public var isOn: Bool { self != .battery }

  /// The state in words, for a person.
  public var description: String {
    switch self {
    case .supply: "a power supply is connected"
    case .charging: "the battery is being charged, or full"
    case .noBattery: "there is no battery"
    case .battery: "no power supply is connected"
    }
  }
}
