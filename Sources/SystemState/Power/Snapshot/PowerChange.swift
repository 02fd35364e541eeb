/// One difference between a snapshot and the snapshot before it.
public enum PowerChange: Sendable, Hashable, CustomStringConvertible {
  /// The evidence for external power changed.
  case externalPower(from: ExternalPower, to: ExternalPower)
  /// The battery level changed, in percent; `nil` stands for unknown.
  case battery(from: Int?, to: Int?)
  /// The low power mode was switched on or off.
  case lowPowerMode(Bool)
  /// The source of the supplies and batteries changed.
  case source(from: PowerSnapshot.Source, to: PowerSnapshot.Source)
  /// The source of the low power mode changed.
  case profileSource(from: PowerSnapshot.ProfileSource, to: PowerSnapshot.ProfileSource)
  /// A file of a supply became unreadable or malformed.
  case fault(SupplyFault)
  /// A file of a supply is readable again, or the supply was removed.
  case faultResolved(SupplyFault)

  /// The change for display, such as "the battery is at 41 % (was 42 %)".
  public var description: String {
    switch self {
    case .externalPower(_, let new): (new.isOn ? "on external power: " : "on battery: ") + new.description
    case .battery(nil, let new?): "the battery is at \(new) %"
    case .battery(let old?, let new?): "the battery is at \(new) % (was \(old) %)"
    case .battery(_, nil): "the battery level is unknown"
    case .lowPowerMode(let isOn): isOn ? "low power mode is on" : "low power mode is off"
    case .source(_, let new): "supplies and batteries are reported by \(new.displayName)"
    case .profileSource(_, let new): "the low power mode is reported by \(new.displayName)"
    case .fault(let fault): fault.description
    case .faultResolved(let fault): "\(fault.supply): \(fault.file) is readable again, or was removed"
    }
  }
}

extension PowerSnapshot.Source {
  /// The name of the source for display.
  public var displayName: String {
    switch self {
    case .upower: "UPower"
    case .sysfs: "the kernel"
    }
  }
}

extension PowerSnapshot.ProfileSource {
  /// The name of the source for display.
  public var displayName: String {
    switch self {
    case .upower, .hadess: "power-profiles-daemon"
    case .setting: "the setting"
    }
  }
}

extension PowerSnapshot {
  /// Returns the differences from an earlier snapshot, causes before consequences.
  func changes(since old: PowerSnapshot) -> [PowerChange] {
    var changes: [PowerChange] = []
    if old.source != source { changes.append(.source(from: old.source, to: source)) }
    if old.profileSource != profileSource {
      changes.append(.profileSource(from: old.profileSource, to: profileSource))
    }
    changes += old.faults.filter { !faults.contains($0) }.map(PowerChange.faultResolved)
    changes += faults.filter { !old.faults.contains($0) }.map(PowerChange.fault)
    if old.externalPower != externalPower {
      changes.append(.externalPower(from: old.externalPower, to: externalPower))
    }
    if old.telemetry.batteryLevelPct != telemetry.batteryLevelPct {
      changes.append(.battery(from: old.telemetry.batteryLevelPct, to: telemetry.batteryLevelPct))
    }
    if old.telemetry.lowPowerMode != telemetry.lowPowerMode {
      changes.append(.lowPowerMode(telemetry.lowPowerMode))
    }
    return changes
  }
}
