/// The complete power state of the host at one instant, with its sources.
///
/// ```swift
/// let snapshot = try await PowerMonitor.start().snapshot
/// print(snapshot.externalPower, "reported by", snapshot.source.displayName)
/// ```
public struct PowerSnapshot: Sendable, Hashable {
  /// The source of the supplies and batteries.
  public enum Source: String, Sendable, Hashable, CaseIterable {
    /// The system daemon UPower, over D-Bus.
    case upower
    /// The kernel's files in `/sys/class/power_supply`.
    case sysfs
  }

  /// The source of the low power mode.
  public enum ProfileSource: String, Sendable, Hashable, CaseIterable {
    /// power-profiles-daemon or a replacement of it, by the name `org.freedesktop.UPower.PowerProfiles`.
    case upower = "org.freedesktop.UPower.PowerProfiles"
    /// power-profiles-daemon by its name of before 2023, `net.hadess.PowerProfiles`.
    case hadess = "net.hadess.PowerProfiles"
    /// The setting ``PowerMonitor/Options/lowPowerMode``, on a host without the daemon.
    case setting
  }

  /// The values that EdgeCoder reports.
  public var telemetry: PowerTelemetry
  /// The evidence for the value of ``PowerTelemetry/onExternalPower``.
  public var externalPower: ExternalPower
  /// The source of the supplies and batteries.
  public var source: Source
  /// The source of the low power mode.
  public var profileSource: ProfileSource
  /// The kernel's files that are unreadable or malformed.
  public var faults: [SupplyFault]

  /// Creates a snapshot from its parts, for tests.
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

/// A file of a power supply that is unreadable or malformed, so that its value is unknown.
public struct SupplyFault: Sendable, Hashable, CustomStringConvertible {
  /// The name of the supply, such as `BAT0`.
  public var supply: String
  /// The name of the file, such as `capacity`.
  public var file: String
  /// The contents of the file, at most 64 characters; `nil` if it is unreadable.
  public var text: String?

  /// Creates a fault from its parts, for tests.
  public init(supply: String, file: String, text: String?) {
    self.supply = supply
    self.file = file
    self.text = text.map { String($0.prefix(64)) }
  }

  /// The fault for display, with the supply and the file.
  public var description: String {
    "\(supply): \(file) " + (text.map { "contains “\($0)”" } ?? "is unreadable")
  }
}
