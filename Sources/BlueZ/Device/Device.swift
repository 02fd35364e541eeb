public import DBus
public import Streams

/// A remote device that bluetoothd knows.
///
/// The handle is stale, and says so, once bluetoothd has restarted or forgotten the device.
public struct Device: Sendable, Hashable, CustomStringConvertible {
  static let interface = InterfaceName.device

  /// The session it belongs to.
  public let session: Session
  /// Its object in bluetoothd.
  public let path: ObjectPath
  let generation: Int

  var core: SessionCore { session.core }

  init(session: Session, path: ObjectPath) {
    self.session = session
    self.path = path
    generation = session.core.state.withLock { $0.generation }
  }

  /// Two devices are equal when they are the same object in the same life of bluetoothd.
  public static func == (a: Device, b: Device) -> Bool {
    a.session === b.session && a.path == b.path && a.generation == b.generation
  }

  /// Hashes the path.
  public func hash(into hasher: inout Hasher) { hasher.combine(path) }

  /// The name and the address.
  public var description: String { name.map { "\($0) (\(peer))" } ?? peer.description }

  /// The device as the other end of a link.
  public var peer: Peer { Peer(path: path) }

  /// Its address, resolved when it is a private one and the device is bonded.
  public var address: BluetoothAddress? { property("Address")?.string.flatMap(BluetoothAddress.init) }

  /// The kind of ``address``.
  public var addressType: AddressType? { property("AddressType")?.string.flatMap(AddressType.init) }

  /// The name it advertises or told us.
  public var name: String? { property("Name")?.string }

  /// The signal strength of the last advertisement, in dBm; `nil` when unknown, as it is once nobody scans any more:
  /// bluetoothd forgets it then. A controller that does not measure it reports 127 (Core Specification 4.E.7.7.65.2),
  /// which is unknown too.
  public var rssi: Int? {
    property("RSSI")?.integer(as: Int.self).flatMap { $0 == 127 ? nil : $0 }
  }

  /// The services it advertises, or has shown.
  public var advertisedServices: Set<BluetoothUUID> { advertisement.services }

  /// What it said of itself over the air, as one value; empty when the handle is stale.
  public var advertisement: AdvertisementData {
    core.state.withLock { state in
      guard state.generation == generation else { return AdvertisementData() }
      let cache = state.cache
      return AdvertisementData(cache.properties(path, Self.interface) ?? [:], heard: cache.heardServices[path])
    }
  }

  /// Whether there is a link.
  public var isConnected: Bool { property("Connected")?.bool ?? false }

  /// Whether its GATT services have been read.
  public var servicesResolved: Bool { property("ServicesResolved")?.bool ?? false }

  /// Any property as bluetoothd has it; `nil` when there is none, or the handle is stale.
  public func property(_ name: String) -> Value? {
    core.state.withLock { state in
      state.generation == generation ? state.cache.properties(path, Self.interface)?[name] : nil
    }
  }

  /// What happens to a device.
  public enum Event: Sendable, Hashable {
    /// There is a link.
    case connected
    /// There is none any more. The reason is `nil` where bluetoothd tells none (before 5.83).
    case disconnected(DisconnectReason?)
    /// Its services can be used now.
    case servicesResolved
    /// It advertised with this strength, dBm.
    case rssi(Int)
    /// Its battery is this full, 0 to 100; see ``Device/batteryLevel``.
    case batteryLevel(Int)
    /// Its private address was resolved to this one, which it keeps: it has been bonded.
    case identityResolved(BluetoothAddress)
    /// Another property changed.
    case property(String)
    /// bluetoothd has forgotten the device, or is gone itself; the handle is stale.
    case gone
  }

  /// What happens to the device from now on; the oldest go when the reader is more than `limit` behind.
  public func events(limit: Int = 64) -> BoundedStream<Event> {
    let path = path
    let core = core
    return core.streams(limit: limit) { change in
      switch change {
      case .serviceDown: return [.gone]
      case .removed(path, let interfaces) where interfaces.contains(Self.interface): return [.gone]
      case .changed(path, Self.interface, let changed, let invalidated):
        return changed.map { name, value in
          switch (name, value) {
          case ("Connected", .bool(true)): .connected
          case ("Connected", .bool(false)): .disconnected(core.state.withLock { $0.cache.disconnectReasons[path] })
          case ("ServicesResolved", .bool(true)): .servicesResolved
          case ("RSSI", .int16(let rssi)) where rssi != 127: .rssi(Int(rssi))
          case ("Address", .string(let text)):
            BluetoothAddress(text).map(Event.identityResolved) ?? .property(name)
          default: .property(name)
          }
        } + invalidated.map(Event.property)
      case .added(path, let interfaces) where interfaces.contains(Self.batteryInterface):
        return core.state.withLock { Self.batteryLevel(path, in: $0.cache) }.map { [.batteryLevel($0)] } ?? []
      case .changed(path, Self.batteryInterface, _, _):
        return core.state.withLock { Self.batteryLevel(path, in: $0.cache) }.map { [.batteryLevel($0)] } ?? []
      default: return []
      }
    }
  }

  /// Makes sure the handle still means what it meant.
  func check() throws {
    let (now, known) = core.state.withLock { ($0.generation, $0.cache.properties(path, Self.interface) != nil) }
    guard now == generation else {
      throw BlueZError(.staleHandle, "bluetoothd restarted since \(peer) was found", hint: "discover it again")
    }
    guard known else {
      throw BlueZError(.staleHandle, "bluetoothd has forgotten \(peer)", hint: "discover it again")
    }
  }
}
