internal import SystemState

/// The coordinator's own table for machines other than phones; the first row that fits decides.
enum CoordinatorMachineTable {
  /// The usage in percent above which the processor is busy.
  static let busyPct = 85.0
  /// The delay of tasks while the processor is busy.
  static let deferral: Duration = .seconds(5)
  /// The level in percent below which the battery is nearly empty.
  static let criticalPct = 15
  /// The highest level in percent at which the battery is low.
  static let lowPct = 40

  static func decide(_ power: PowerTelemetry?, _ machine: MachineTelemetry) -> AssignmentDecision {
    if machine.kind == .server { return .all(.serverUnlimited) }
    if let usage = machine.cpuUsagePct, usage > busyPct {
      return AssignmentDecision(coordinatorTasks: true, peerWork: true, .highCPUDefer, deferral: deferral)
    }
    if machine.thermalState == .serious || machine.thermalState == .critical { return .none(.thermalThrottle) }
    guard let power, !power.onExternalPower, machine.kind != .desktop else { return .all(.desktopACPower) }
    // The coordinator treats a battery without a level as full.
    guard let level = power.batteryLevelPct, level <= lowPct else { return .coordinatorOnly(.laptopBatteryHigh) }
    if level < criticalPct { return .none(.laptopBatteryCritical) }
    return AssignmentDecision(coordinatorTasks: true, peerWork: false, .laptopBatteryLow, smallTasksOnly: true)
  }
}
