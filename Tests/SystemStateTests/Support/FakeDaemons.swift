import DBus
import DBusTesting
import Streams

/// What answers as UPower does, on a bus of its own.
final class FakeUPower: Sendable {
  private static let name = "org.freedesktop.UPower"
  private static let device = "org.freedesktop.UPower.Device"

  private let connection: Connection
  private let state: Lock<(isOnBattery: Bool, display: [String: Value])>
  private let manager: ExportedObject
  private let display: ExportedObject

  /// Takes its name when all is there, as a daemon does.
  init(_ bus: PrivateBus, isOnBattery: Bool, percentage: Double?) async throws {
    connection = try await bus.connect()
    let state = Lock((isOnBattery: isOnBattery, display: Self.battery(percentage)))
    self.state = state
    let properties = Self.battery(1).keys.map { name in
      Interface.Property(name, Self.battery(1)[name]!.signature, get: { state.withLock { $0.display[name] } })
    }
    manager = try connection.export(
      "/org/freedesktop/UPower",
      [Interface(Self.name, properties: [.init("OnBattery", "b", get: { .bool(state.withLock { $0.isOnBattery }) })])])
    display = try connection.export(
      "/org/freedesktop/UPower/devices/DisplayDevice", [Interface(Self.device, properties: properties)])
    _ = try await connection.requestName(Self.name)
  }

  func set(isOnBattery: Bool) throws {
    state.withLock { $0.isOnBattery = isOnBattery }
    try manager.emitPropertiesChanged(Self.name, ["OnBattery": .bool(isOnBattery)])
  }

  /// - Parameter percentage: `nil` for no battery.
  func set(percentage: Double?) throws {
    let display = Self.battery(percentage)
    state.withLock { $0.display = display }
    try self.display.emitPropertiesChanged(Self.device, display)
  }

  func end() { connection.close() }

  /// As UPower 0.99.20 describes its display device, discharging, or without any battery.
  static func battery(_ percentage: Double?) -> [String: Value] {
    [
      "Type": .uint32(percentage == nil ? 0 : 2), "IsPresent": .bool(percentage != nil),
      "Percentage": .double(percentage ?? 0), "State": .uint32(percentage == nil ? 0 : 2),
    ]
  }
}

/// What answers as power-profiles-daemon does, by one of its names.
final class FakeProfiles: Sendable {
  private let name: String
  private let connection: Connection
  private let profile: Lock<String>
  private let object: ExportedObject

  init(_ bus: PrivateBus, name: String, path: ObjectPath, profile: String) async throws {
    self.name = name
    connection = try await bus.connect()
    let profile = Lock(profile)
    self.profile = profile
    object = try connection.export(
      path,
      [Interface(name, properties: [.init("ActiveProfile", "s", get: { .string(profile.withLock { $0 }) })])])
    _ = try await connection.requestName(name)
  }

  func set(_ profile: String) throws {
    self.profile.withLock { $0 = profile }
    try object.emitPropertiesChanged(name, ["ActiveProfile": .string(profile)])
  }

  func end() { connection.close() }
}
