/// The supplies and batteries as one source reports them.
struct SupplyReading: Sendable, Hashable {
  var source: PowerSnapshot.Source
  var externalPower: ExternalPower
  /// 0–100; `nil` for unknown.
  var batteryLevelPct: Int?
  var faults: [SupplyFault] = []
}

/// The low power mode as one source reports it.
struct ProfileReading: Sendable, Hashable {
  var source: PowerSnapshot.ProfileSource
  var isPowerSaver: Bool
}
