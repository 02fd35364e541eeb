/// The power state as EdgeCoder reports it in each heartbeat, under `powerTelemetry` and with these keys.
///
/// ```swift
/// let telemetry = PowerTelemetry(
///   onExternalPower: false, batteryLevelPct: 41, lowPowerMode: true, updatedAtMs: 1_700_000_000_000)
/// print(telemetry.batteryLevelPct ?? -1)  // 41
/// ```
public struct PowerTelemetry: Sendable, Hashable, Codable {
  /// A Boolean value that indicates whether the host is on external power: a charger, a USB port, the mains.
  public let onExternalPower: Bool
  /// The battery level in percent, 0–100; `nil`, and then not encoded, without a battery or with an unknown level.
  public let batteryLevelPct: Int?
  /// A Boolean value that indicates whether the user, or the system for them, wants to save power.
  public let lowPowerMode: Bool
  /// The wall-clock time of the newest reading, in milliseconds since 1970.
  public let updatedAtMs: Int64

  /// Creates telemetry; a battery level outside 0–100, such as the −1 of other agents, counts as unknown.
  public init(onExternalPower: Bool, batteryLevelPct: Int?, lowPowerMode: Bool, updatedAtMs: Int64) {
    self.onExternalPower = onExternalPower
    self.batteryLevelPct = batteryLevelPct.flatMap { (0...100).contains($0) ? $0 : nil }
    self.lowPowerMode = lowPowerMode
    self.updatedAtMs = updatedAtMs
  }

  /// Decodes telemetry; a battery level outside 0–100 counts as unknown.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      onExternalPower: try fields.decode(Bool.self, forKey: .onExternalPower),
      batteryLevelPct: try fields.decodeIfPresent(Int.self, forKey: .batteryLevelPct),
      lowPowerMode: try fields.decode(Bool.self, forKey: .lowPowerMode),
      updatedAtMs: try fields.decode(Int64.self, forKey: .updatedAtMs))
  }
}
