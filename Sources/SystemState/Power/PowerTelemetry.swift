/// What a machine runs on, as EdgeCoder reports it: in each heartbeat, under `powerTelemetry`, with these very keys.
public struct PowerTelemetry: Sendable, Hashable, Codable {
  /// Whether power comes from outside: a charger, a USB port, the mains.
  public let onExternalPower: Bool
  /// How full the battery is, 0–100; `nil`, and then left out of what is sent, when there is none or it does not say.
  public let batteryLevelPct: Int?
  /// Whether a person, or the system for them, wants power to be saved.
  public let lowPowerMode: Bool
  /// When the sources last said so: milliseconds since 1970, wall time.
  public let updatedAtMs: Int64

  /// Makes telemetry; a battery outside 0–100, such as the −1 of others, counts as unknown.
  public init(onExternalPower: Bool, batteryLevelPct: Int?, lowPowerMode: Bool, updatedAtMs: Int64) {
    self.onExternalPower = onExternalPower
    self.batteryLevelPct = batteryLevelPct.flatMap { (0...100).contains($0) ? $0 : nil }
    self.lowPowerMode = lowPowerMode
    self.updatedAtMs = updatedAtMs
  }

  /// Reads what another has sent; a battery outside 0–100 counts as unknown.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      onExternalPower: try fields.decode(Bool.self, forKey: .onExternalPower),
      batteryLevelPct: try fields.decodeIfPresent(Int.self, forKey: .batteryLevelPct),
      lowPowerMode: try fields.decode(Bool.self, forKey: .lowPowerMode),
      updatedAtMs: try fields.decode(Int64.self, forKey: .updatedAtMs))
  }
}
