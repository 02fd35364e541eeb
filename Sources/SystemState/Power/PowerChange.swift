/// One reason why a snapshot differs from the one before.
public enum PowerChange: Sendable, Hashable, CustomStringConvertible {
  /// Power comes from elsewhere now.
  case externalPower(from: ExternalPower, to: ExternalPower)
  /// The battery is fuller or emptier, in percent; `nil` stands for unknown.
  case battery(from: Int?, to: Int?)
  /// Power is to be saved, or no longer.
  case lowPowerMode(Bool)
  /// Another one tells of supplies and batteries.
  case source(from: PowerSnapshot.Source, to: PowerSnapshot.Source)
  /// Another one tells of the low power mode.
  case profileSource(from: PowerSnapshot.ProfileSource, to: PowerSnapshot.ProfileSource)
  /// A file of a supply does not say what it should.
  case fault(SupplyFault)
  /// It does again, or the supply is gone.
  case faultGone(SupplyFault)

  /// The change in words, for a person.
  public var description: String {
    switch self {
    case .externalPower(_, let new): (new.isOn ? "on external power: " : "on battery: ") + new.description
    case .battery(nil, let new?): "the battery is at \(new) %"
    case .battery(let old?, let new?): "the battery is at \(new) % (was \(old) %)"
    case .battery(_, nil): "how full the battery is, is not known"
    case .lowPowerMode(let isOn): isOn ? "power is to be saved" : "power need not be saved"
    case .source(_, let new): "\(new.words) tells of supplies and batteries"
    case .profileSource(_, let new): "\(new.words) tells of the low power mode"
    case .fault(let fault): fault.description
    case .faultGone(let fault): "\(fault.supply): \(fault.file) can be read again, or is gone"
    }
  }
}

extension PowerSnapshot.Source {
  /// The source in words, for a person.
  public var words: String {
    switch self {
    case .upower: "UPower"
    case .sysfs: "the kernel"
    }
  }
}

extension PowerSnapshot.ProfileSource {
  /// The source in words, for a person.
  public var words: String {
    switch self {
    case .upower, .hadess: "power-profiles-daemon"
    case .setting: "the setting"
    }
  }
}

extension PowerSnapshot {
  /// What makes this snapshot differ from an earlier one, the cause before its consequence.
  func changes(since old: PowerSnapshot) -> [PowerChange] {
    var changes: [PowerChange] = []
    if old.source != source { changes.append(.source(from: old.source, to: source)) }
    if old.profileSource != profileSource {
      changes.append(.profileSource(from: old.profileSource, to: profileSource))
    }
    changes += old.faults.filter { !faults.contains($0) }.map(PowerChange.faultGone)
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
