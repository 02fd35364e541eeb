/// The kind of the host, its processor usage and its thermal state; `nil` stands for unknown.
public struct MachineTelemetry: Sendable, Hashable {
  /// The kind of the host, derived from its battery and hypervisor.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A virtual machine without a battery.
    case server
    /// A physical machine without a battery.
    case desktop
    /// A machine with a battery.
    case laptop
  }

  /// The thermal state of the host, by the limits of EdgeCoder's own agents for Linux.
  public enum ThermalState: String, Sendable, Hashable, CaseIterable {
    /// The hottest zone has at most 60 °C.
    case nominal
    /// The hottest zone has at most 75 °C.
    case fair
    /// The hottest zone has at most 90 °C, at which work should stop.
    case serious
    /// The hottest zone has more than 90 °C.
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

  /// The kind of the host.
  public var kind: Kind?
  /// The usage of all processors together in percent, 0–100.
  public var cpuUsagePct: Double?
  /// The thermal state of the host.
  public var thermalState: ThermalState?

  /// Creates telemetry from its parts.
  public init(kind: Kind? = nil, cpuUsagePct: Double? = nil, thermalState: ThermalState? = nil) {
    self.kind = kind
    self.cpuUsagePct = cpuUsagePct
    self.thermalState = thermalState
  }
}
