/// What a machine is, and how it bears its work. `nil` stands for unknown.
public struct MachineTelemetry: Sendable, Hashable {
  /// What kind of machine it is.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// One that runs for others: a virtual machine.
    case server
    /// One that stands at the mains.
    case desktop
    /// One with a battery.
    case laptop
  }

  /// How hot it is, by the limits of EdgeCoder's own agents for Linux.
  public enum ThermalState: String, Sendable, Hashable, CaseIterable {
    /// Up to 60 °C.
    case nominal
    /// Up to 75 °C.
    case fair
    /// Up to 90 °C: hot enough to stop.
    case serious
    /// Beyond: hot enough to worry.
    case critical

    init(celsius: Double) {
      switch celsius {
      case ...60: self = .nominal
      case ...75: self = .fair
      case ...90: self = .serious
      default: self = .critical
      }
    }
  }

  /// What kind of machine it is.
  public var kind: Kind?
  /// How busy its processors are together, 0–100.
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
