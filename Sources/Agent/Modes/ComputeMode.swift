/// What a machine offers, and to whom. A person chooses; the raw value is for files and programs.
public enum ComputeMode: String, Sendable, Hashable, CaseIterable, Codable, CustomStringConvertible {
  /// Nothing is offered.
  case off
  /// Compute is offered to the swarm, over the internet, by a heartbeat to a coordinator. That is rewarded.
  case on
  /// Compute is offered to machines near by, over Bluetooth. That needs no internet, and is not rewarded.
  case bluetoothLocal = "bluetooth-local"

  /// The mode as a person knows it.
  public var description: String {
    switch self {
    case .off: "Off"
    case .on: "On"
    case .bluetoothLocal: "Bluetooth Local"
    }
  }
}

/// What works in a mode.
public enum ComputeService: String, Sendable, Hashable, CaseIterable {
  /// The Bluetooth peripheral, of ``ComputeMode/bluetoothLocal``.
  case phone
  /// The heartbeat to the coordinator, of ``ComputeMode/on``.
  case heartbeat

  /// The other one.
  var other: ComputeService { self == .phone ? .heartbeat : .phone }
}

/// What outlives the program: the mode, how it came about, and the setting that gates it.
public struct ModeRecord: Sendable, Hashable, Codable {
  /// How a mode came about.
  public enum Cause: String, Sendable, Hashable, CaseIterable, Codable {
    /// A person chose it, or nobody has chosen yet.
    case person
    /// It was ``ComputeMode/on``, and the network went away.
    case networkLoss = "network-loss"
  }

  /// The mode.
  public var mode: ComputeMode
  /// How it came about; anything but ``Cause/person`` only in ``ComputeMode/bluetoothLocal``.
  public var cause: Cause
  /// Whether nothing runs without external power.
  public var runOnlyWhileCharging: Bool

  /// Makes a record; by default that of a machine nobody has yet spoken to.
  public init(mode: ComputeMode = .off, cause: Cause = .person, runOnlyWhileCharging: Bool = false) {
    self.mode = mode
    self.cause = mode == .bluetoothLocal ? cause : .person
    self.runOnlyWhileCharging = runOnlyWhileCharging
  }
}
