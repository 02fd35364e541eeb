internal import SystemState

/// The coordinator's own table for machines that are no phones; the first row that fits decides.
enum CoordinatorMachineTable {
  /// Above this the processor is busy.
  static let busyPct = 85.0
  /// How long tasks then wait.
  static let deferral: Duration = .seconds(5)
  /// Below this the battery is nearly empty.
  static let criticalPct = 15
  /// Up to this it is low.
  static let lowPct = 40

  static func decide(_ power: PowerTelemetry?, _ machine: MachineTelemetry) -> AssignmentDecision {
    if machine.kind == .server { return .all(.serverUnlimited) }
    if let usage = machine.cpuUsagePct, usage > busyPct {
      return AssignmentDecision(coordinatorTasks: true, peerWork: true, .highCPUDefer, deferral: deferral)
    }
    if machine.thermalState == .serious || machine.thermalState == .critical { return .none(.thermalThrottle) }
    guard let power, !power.onExternalPower, machine.kind != .desktop else { return .all(.desktopACPower) }
    // Here a battery without a level is as good as a full one.
    guard let level = power.batteryLevelPct, level <= lowPct else { return .coordinatorOnly(.laptopBatteryHigh) }
    if level < criticalPct { return .none(.laptopBatteryCritical) }
    return AssignmentDecision(coordinatorTasks: true, peerWork: false, .laptopBatteryLow, smallTasksOnly: true)
  }
}
