/// The state machine that decides which readings of power are published.
struct PowerMachine: Sendable {
  /// The events that the state machine accepts.
  enum Event: Sendable, Hashable {
    /// All sources were read.
    case read(SupplyReading, ProfileReading?)
  }

  /// The actions that the owner performs.
  enum Action: Sendable, Hashable {
    /// Stores the update as the newest and delivers it to the subscribers.
    case publish(PowerUpdate)
    /// Stores the update as the newest without delivery: only the time of the reading is new.
    case store(PowerUpdate)
  }

  /// The low power mode where no source reports one.
  let lowPowerSetting: Bool
  /// The newest update, with the time of the newest reading, even if that brought no change.
  private(set) var newest: PowerUpdate?

  init(lowPowerSetting: Bool) { self.lowPowerSetting = lowPowerSetting }

  /// Handles an event at a wall-clock time in milliseconds since 1970.
  mutating func handle(_ event: Event, at now: Int64) -> [Action] {
    switch event {
    case .read(let supplies, let profile):
      let snapshot = snapshot(supplies, profile, at: now)
      guard var update = newest else { return publish(PowerUpdate(number: 1, snapshot: snapshot)) }
      let changes = snapshot.changes(since: update.snapshot)
      guard changes.isEmpty else {
        return publish(PowerUpdate(number: update.number + 1, snapshot: snapshot, changes: changes))
      }
      update.snapshot = snapshot
      newest = update
      return [.store(update)]
    }
  }

  private mutating func publish(_ update: PowerUpdate) -> [Action] {
    newest = update
    return [.publish(update)]
  }

  private func snapshot(_ supplies: SupplyReading, _ profile: ProfileReading?, at now: Int64) -> PowerSnapshot {
    PowerSnapshot(
      telemetry: PowerTelemetry(
        onExternalPower: supplies.externalPower.isOn, batteryLevelPct: supplies.batteryLevelPct,
        lowPowerMode: profile?.isPowerSaver ?? lowPowerSetting, updatedAtMs: now),
      externalPower: supplies.externalPower, source: supplies.source, profileSource: profile?.source ?? .setting,
      faults: supplies.faults)
  }
}
