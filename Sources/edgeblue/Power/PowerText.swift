import SystemState

extension PowerSnapshot {
  /// What the machine runs on, in one sentence.
  var headline: String {
    let level = telemetry.batteryLevelPct.map { ", at \($0) %" } ?? ""
    return (externalPower.isOn ? "On external power: " : "On battery\(level): ") + "\(externalPower)."
  }

  /// All there is to know, for a person.
  var lines: [String] {
    let battery = telemetry.batteryLevelPct.map { "\($0) %" } ?? (externalPower == .noBattery ? "none" : "unknown")
    let facts = [
      ("Battery", "\(battery) (says \(source.displayName))"),
      ("Save power", "\(telemetry.lowPowerMode ? "yes" : "no") (says \(profileSource.displayName))"),
    ]
    return [headline, ""] + facts.map { $0.0.padded(to: 12) + $0.1 }
      + faults.map { "Not understood: \($0)".printable }
  }

  var json: [String: JSON] {
    [
      "powerTelemetry": .object(telemetry.json), "externalPower": .string(externalPower.rawValue),
      "source": .string(source.rawValue), "profileSource": .string(profileSource.rawValue),
      "faults": .list(faults.map { .string($0.description) }),
    ]
  }
}

extension PowerTelemetry {
  /// As it is sent: a battery that is unknown is not there.
  var json: [String: JSON] {
    var fields: [String: JSON] = [
      "onExternalPower": .bool(onExternalPower), "lowPowerMode": .bool(lowPowerMode),
      "updatedAtMs": .number(Int(updatedAtMs)),
    ]
    fields["batteryLevelPct"] = batteryLevelPct.map(JSON.number)
    return fields
  }
}

extension PowerUpdate {
  var json: [String: JSON] {
    snapshot.json.merging([
      "number": .number(number), "changes": .list(changes.map { .string($0.description) }),
    ]) { $1 }
  }
}
