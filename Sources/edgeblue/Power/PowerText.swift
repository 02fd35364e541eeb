import JSONValues
import SystemState

extension PowerSnapshot: Report {
  /// The power source in one sentence, for display.
  var headline: String {
    let level = telemetry.batteryLevelPct.map { ", at \($0) %" } ?? ""
    return (externalPower.isOn ? "On external power: " : "On battery\(level): ") + "\(externalPower)."
  }

  /// All fields of the snapshot, for display.
  var lines: [String] {
    let battery = telemetry.batteryLevelPct.map { "\($0) %" } ?? (externalPower == .noBattery ? "none" : "unknown")
    let facts = [
      ("Battery", "\(battery) (from \(source.displayName))"),
      ("Power saver", "\(telemetry.lowPowerMode ? "on" : "off") (from \(profileSource.displayName))"),
    ]
    return [headline, ""] + facts.map { $0.0.padded(to: 13) + $0.1 }
      + faults.map { "Unreadable: \($0)".printable }
  }

  var json: [String: JSONValue] {
    [
      "powerTelemetry": .object(telemetry.json), "externalPower": .string(externalPower.rawValue),
      "source": .string(source.rawValue), "profileSource": .string(profileSource.rawValue),
      "faults": .array(faults.map { .string($0.description) }),
    ]
  }
}

extension PowerTelemetry {
  /// The fields as the agent sends them; an unknown battery level is omitted.
  var json: [String: JSONValue] {
    var fields: [String: JSONValue] = [
      "onExternalPower": .bool(onExternalPower), "lowPowerMode": .bool(lowPowerMode),
      "updatedAtMs": .number(Int(updatedAtMs)),
    ]
    fields["batteryLevelPct"] = batteryLevelPct.map(JSONValue.number)
    return fields
  }
}

extension PowerUpdate {
  var json: [String: JSONValue] {
    snapshot.json.merging([
      "number": .number(number), "changes": .array(changes.map { .string($0.description) }),
    ]) { $1 }
  }
}
