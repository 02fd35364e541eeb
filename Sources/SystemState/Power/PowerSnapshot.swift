/// What a machine runs on at one moment, and who says so.
public struct PowerSnapshot: Sendable, Hashable {
  /// Who told of supplies and batteries.
  public enum Source: String, Sendable, Hashable, CaseIterable {
    /// The daemon UPower.
    case upower
    /// The kernel, by its files.
    case sysfs
  }

  /// Who told of the low power mode.
  public enum ProfileSource: String, Sendable, Hashable, CaseIterable {
    /// power-profiles-daemon, or what stands in for it, as `org.freedesktop.UPower.PowerProfiles`.
    case upower = "org.freedesktop.UPower.PowerProfiles"
    /// The same by its name of before 2023.
    case hadess = "net.hadess.PowerProfiles"
    /// Nobody: ``PowerMonitor/Options/lowPowerMode`` counts.
    case setting
  }

  /// The values.
  public var telemetry: PowerTelemetry
  /// Why ``PowerTelemetry/onExternalPower`` is what it is.
  public var externalPower: ExternalPower
  /// Who told of supplies and batteries.
  public var source: Source
  /// Who told of the low power mode.
  public var profileSource: ProfileSource
  /// What of the kernel's files could not be understood.
  public var faults: [SupplyFault]

  /// Makes a snapshot, for tests of what uses one.
  public init(
    telemetry: PowerTelemetry, externalPower: ExternalPower, source: Source = .sysfs,
    profileSource: ProfileSource = .setting, faults: [SupplyFault] = []
  ) {
    self.telemetry = telemetry
    self.externalPower = externalPower
    self.source = source
    self.profileSource = profileSource
    self.faults = faults
  }
}

/// A file of a power supply that does not say what it should. The value counts as unknown.
public struct SupplyFault: Sendable, Hashable, CustomStringConvertible {
  /// The supply, such as `BAT0`.
  public var supply: String
  /// The file, such as `capacity`.
  public var file: String
  /// What it says, at most 64 characters; `nil` when it could not be read.
  public var text: String?

  /// Makes a fault, for tests of what uses one.
  public init(supply: String, file: String, text: String?) {
    self.supply = supply
    self.file = file
    self.text = text.map { String($0.prefix(64)) }
  }

  /// The fault in words, for a person.
  public var description: String {
    "\(supply): \(file) " + (text.map { "says “\($0)”" } ?? "cannot be read")
  }
}
