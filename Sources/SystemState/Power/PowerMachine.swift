/// What a source tells of supplies and batteries.
struct SupplyReading: Sendable, Hashable {
  var source: PowerSnapshot.Source
  var externalPower: ExternalPower
  /// 0–100; `nil` for unknown.
  var batteryLevelPct: Int?
  var faults: [SupplyFault] = []
}

/// What a source tells of the low power mode.
struct ProfileReading: Sendable, Hashable {
  var source: PowerSnapshot.ProfileSource
  var isPowerSaver: Bool
}

/// Decides what is told of power; does nothing itself and has no clock.
struct PowerMachine: Sendable {
  /// Counts when nobody tells of the low power mode.
  let lowPowerSetting: Bool
  /// The newest, with the time of the newest reading, though that brought no change.
  private(set) var newest: PowerUpdate?

  init(lowPowerSetting: Bool) { self.lowPowerSetting = lowPowerSetting }

  /// Takes in what the sources say at a moment.
  /// - Returns: what there is to tell, if anything.
  mutating func handle(_ supplies: SupplyReading, _ profile: ProfileReading?, atMs now: Int64) -> PowerUpdate? {
    let snapshot = PowerSnapshot(
      telemetry: PowerTelemetry(
        onExternalPower: supplies.externalPower.isOn, batteryLevelPct: supplies.batteryLevelPct,
        lowPowerMode: profile?.isPowerSaver ?? lowPowerSetting, updatedAtMs: now),
      externalPower: supplies.externalPower, source: supplies.source, profileSource: profile?.source ?? .setting,
      faults: supplies.faults)
    guard let old = newest else {
      newest = PowerUpdate(number: 1, snapshot: snapshot)
      return newest
    }
    let changes = snapshot.changes(since: old.snapshot)
    guard !changes.isEmpty else {
      newest?.snapshot = snapshot
      return nil
    }
    newest = PowerUpdate(number: old.number + 1, snapshot: snapshot, changes: changes)
    return newest
  }
}
