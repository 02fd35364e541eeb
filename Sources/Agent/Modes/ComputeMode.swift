/// The compute that this machine offers, as the user chose. The raw value is for files and programs.
public enum ComputeMode: String, Sendable, Hashable, CaseIterable, Codable, CustomStringConvertible {
  /// The agent offers no compute.
  case off
  /// The agent offers compute to the swarm, over the internet, with heartbeats to a coordinator. That earns rewards.
  case on
  /// The agent offers compute to devices in range over Bluetooth. That needs no internet, and earns no rewards.
  case bluetoothLocal = "bluetooth-local"

  /// The name of the mode, for display.
  public var description: String {
    switch self {
    case .off: "Off"
    case .on: "On"
    case .bluetoothLocal: "Bluetooth Local"
    }
  }
}

/// The service that works in a mode.
public enum ComputeService: String, Sendable, Hashable, CaseIterable {
  /// The Bluetooth peripheral, of ``ComputeMode/bluetoothLocal``.
  case phone
  /// The heartbeat to the coordinator, of ``ComputeMode/on``.
  case heartbeat

  /// The other of the two services.
  var other: ComputeService { self == .phone ? .heartbeat : .phone }
}

/// The conditions under which an automatic change to ``ComputeMode/bluetoothLocal`` is reverted without the user.
public enum ReturnToOn: String, Sendable, Hashable, CaseIterable {
  /// Only the user returns to ``ComputeMode/on``.
  case never
  /// The next start of the agent returns to ``ComputeMode/on``.
  case afterRestart = "after-restart"
  /// The return of the network does.
  case whenBack = "when-back"
}

/// The persisted mode, with its cause and the setting that limits it.
public struct ModeRecord: Sendable, Hashable, Codable {
  /// The causes of the present mode.
  public enum Cause: String, Sendable, Hashable, CaseIterable, Codable {
    /// The user chose the mode, or no mode was chosen yet.
    case person
    /// The mode was ``ComputeMode/on``, and the network was lost.
    case networkLoss = "network-loss"
  }

  /// The compute mode that is in force.
  public var mode: ComputeMode
  /// The compute mode that the user chose: ``ComputeMode/on`` where the loss of the network changed it.
  public var chosenMode: ComputeMode { cause == .networkLoss ? .on : mode }
  /// The cause of the mode; always ``Cause/person`` except in ``ComputeMode/bluetoothLocal``.
  public var cause: Cause
  /// A Boolean value that indicates whether services run on external power only.
  public var runOnlyWhileCharging: Bool

  /// Creates a record; the default is that of a machine whose user has not chosen yet.
  public init(mode: ComputeMode = .off, cause: Cause = .person, runOnlyWhileCharging: Bool = false) {
    self.mode = mode
    self.cause = mode == .bluetoothLocal ? cause : .person
    self.runOnlyWhileCharging = runOnlyWhileCharging
  }
}
