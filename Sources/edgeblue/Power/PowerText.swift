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
      ("Battery", "\(battery) (says \(source.words))"),
      ("Save power", "\(telemetry.lowPowerMode ? "yes" : "no") (says \(profileSource.words))"),
    ]
    return [headline, ""] + facts.map { $0.0.padded(to: 12) + $0.1 }
      + faults.map { "Not understood: \($0)".printable }
  }

  var json: [String: JSON] {
    var telemetry: [String: JSON] = [
      "onExternalPower": .bool(telemetry.onExternalPower), "lowPowerMode": .bool(telemetry.lowPowerMode),
      "updatedAtMs": .number(Int(telemetry.updatedAtMs)),
    ]
    // Absent when unknown, as it is sent.
    telemetry["batteryLevelPct"] = self.telemetry.batteryLevelPct.map(JSON.number)
    return [
      "powerTelemetry": .object(telemetry), "externalPower": .string(externalPower.rawValue),
      "source": .string(source.rawValue), "profileSource": .string(profileSource.rawValue),
      "faults": .list(faults.map { .string($0.description) }),
    ]
  }
}

extension PowerUpdate {
  var json: [String: JSON] {
    snapshot.json.merging([
      "number": .number(number), "changes": .list(changes.map { .string($0.description) }),
    ]) { $1 }
  }
}
