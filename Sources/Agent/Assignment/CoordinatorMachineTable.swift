internal import SystemState

/// What the coordinator knows of a machine that is no phone, besides its power. `nil` stands for unknown.
public struct MachineTelemetry: Sendable, Hashable {
  /// What kind of machine it is.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// One that runs for others, such as a virtual machine.
    case server
    /// One that stands at the mains.
    case desktop
    /// One with a battery.
    case laptop
  }

  /// How hot it is; on Linux up to 60, 75, 90 °C, and beyond.
  public enum ThermalState: String, Sendable, Hashable, CaseIterable {
    /// As it should be.
    case nominal
    /// Warm.
    case fair
    /// Hot enough to stop.
    case serious
    /// Hot enough to worry.
    case critical
  }

  /// What kind of machine it is.
  public var kind: Kind?
  /// How busy its processors are, 0–100.
  public var cpuUsagePct: Double?
  /// How hot it is.
  public var thermalState: ThermalState?

  /// Makes telemetry.
  public init(kind: Kind? = nil, cpuUsagePct: Double? = nil, thermalState: ThermalState? = nil) {
    self.kind = kind
    self.cpuUsagePct = cpuUsagePct
    self.thermalState = thermalState
  }
}

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
