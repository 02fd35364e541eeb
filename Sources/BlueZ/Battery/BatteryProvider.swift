import DBus
import Streams

/// A source of a device's battery level for bluetoothd, for devices that report the level in a protocol of their own.
///
/// Every client of bluetoothd then sees the level. It is withdrawn with this object, or with ``stop()``. It is
/// declared: after a restart of bluetoothd it is registered again.
///
/// ```swift
/// let provider = try await adapter.provideBatteryLevel(80, of: device)
/// try await provider.set(79)
/// try await provider.stop()
/// ```
public final class BatteryProvider: Registration {
  private static let interface = "org.bluez.BatteryProvider1"

  let place: RegistrationPlace
  let manager = "org.bluez.BatteryProviderManager1"
  let needsPower = false
  let order = 2
  let title: String

  private let session: Session
  /// The last element of the device's path: the adapter's path may change with a restart.
  private let device: String
  private let source: String?
  private let root: ObjectPath
  private let state: Lock<State>

  private struct State {
    var level: Int
    var id: Int?
    var objects: [ExportedObject] = []
  }

  private static let paths = ObjectPathCounter("battery")

  init(_ device: Device, adapter: AdapterIdentity, level: Int, source: String?) throws {
    try Self.check(level)
    session = device.session
    self.device = String(device.path.description.split(separator: "/").last ?? "")
    self.source = source
    place = .adapter(adapter)
    title = "the battery level of \(device.peer)"
    state = Lock(State(level: level))
    root = Self.paths.next()
  }

  deinit {
    session.core.takeDownQuietly(state.withLock { $0.id })
  }

  func start() async throws {
    let id = try await session.core.register(ForwardingRegistration(self))
    state.withLock { $0.id = id }
  }

  /// Publishes a new level, 0 to 100 percent.
  /// - Throws: ``BlueZError``: `.invalidArgument` for a level outside the range, `.serviceUnavailable`.
  public func set(_ level: Int) async throws {
    try Self.check(level)
    let objects = state.withLock { state in
      state.level = level
      return state.objects
    }
    try await BlueZError.naming("publishing \(title)") {
      try objects.last?.emitPropertiesChanged(Self.interface, ["Percentage": .byte(UInt8(level))])
    }
  }

  /// Withdraws the battery level from bluetoothd. Where bluetoothd, the adapter or the level is gone there is nothing
  /// to withdraw.
  /// - Throws: ``BlueZError`` when bluetoothd refuses.
  public func stop() async throws {
    let id = state.withLock { $0.id.take() }
    defer { state.withLock { $0.objects = [] } }
    try await session.core.takeDown(id)
  }

  func establish(on connection: Connection, at adapter: ObjectPath) async throws {
    let device = try adapter.appending(device)
    state.withLock { $0.objects = [] }
    var properties: [Interface.Property] = [
      .init("Percentage", "y") { [weak self] in self.map { .byte(UInt8($0.state.withLock { $0.level })) } },
      .init("Device", .objectPath(device)),
    ]
    if let source { properties.append(.init("Source", .string(source))) }
    let objects = [
      try connection.export(root, objectManager: true),
      try connection.export(try root.appending("level"), [Interface(Self.interface, properties: properties)]),
    ]
    state.withLock { $0.objects = objects }
    try await connection.call(
      SessionCore.service, adapter, manager, "RegisterBatteryProvider", [.objectPath(root)], returning: "")
  }

  var undoing: Undoing { Undoing(manager, "UnregisterBatteryProvider", root, title) }

  private static func check(_ level: Int) throws(BlueZError) {
    guard (0...100).contains(level) else {
      throw BlueZError(.invalidArgument, "the battery level is \(level); allowed: 0 to 100")
    }
  }
}

extension Adapter {
  /// Provides the battery level of a device to bluetoothd, until the returned object is released or stopped.
  /// - Parameters:
  ///   - level: The level, 0 to 100 percent.
  ///   - device: A device of this adapter.
  ///   - source: The origin of the level, for debugging, such as a UUID.
  /// - Throws: ``BlueZError``: `.invalidArgument`, `.notSupported` when this bluetoothd accepts no levels (so far it
  ///   needs `bluetoothd -E`), `.noAdapter`, `.serviceUnavailable`.
  public func provideBatteryLevel(
    _ level: Int, of device: Device, source: String? = nil
  ) async throws -> BatteryProvider {
    guard let path, device.path.isWithin(path) else {
      throw BlueZError(.invalidArgument, "\(device.peer) is not a device of \(self)")
    }
    let provider = try BatteryProvider(device, adapter: identity, level: level, source: source)
    try await provider.start()
    return provider
  }
}
