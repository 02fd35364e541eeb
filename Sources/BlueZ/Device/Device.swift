public import DBus
public import Streams

/// A remote device that bluetoothd knows.
///
/// A handle becomes stale when bluetoothd restarts or forgets the device; its methods then throw
/// ``BlueZError/Code/staleHandle``.
///
/// ```swift
/// try await device.connect()
/// let battery = try device.characteristic("2a19", in: "180f")
/// print(device, "has a battery level of", try await battery.read().first ?? 0, "%")
/// try await device.disconnect()
/// ```
public struct Device: Sendable, Hashable, CustomStringConvertible {
  static let interface = InterfaceName.device

  /// The session that the device belongs to.
  public let session: Session
  /// The path of the device's object in bluetoothd.
  public let path: ObjectPath
  let generation: Int

  var core: SessionCore { session.core }

  init(session: Session, path: ObjectPath) {
    self.init(session: session, path: path, generation: session.core.state.withLock { $0.generation })
  }

  /// Creates a handle to a device of an instance of bluetoothd that may have ended.
  init(session: Session, path: ObjectPath, generation: Int) {
    self.session = session
    self.path = path
    self.generation = generation
  }

  /// Returns `true` if the two are the same object of the same instance of bluetoothd.
  public static func == (a: Device, b: Device) -> Bool {
    a.session === b.session && a.path == b.path && a.generation == b.generation
  }

  /// Hashes the path of the device's object.
  public func hash(into hasher: inout Hasher) { hasher.combine(path) }

  /// The name and the address, for display.
  public var description: String { name.map { "\($0) (\(peer))" } ?? peer.description }

  /// The identity of the device as a peer, as GATT servers and L2CAP channels use it.
  public var peer: Peer { Peer(path: path) }

  /// The address of the device; the identity address when the device is bonded and its private address was resolved.
  public var address: BluetoothAddress? { property("Address")?.string.flatMap(BluetoothAddress.init) }

  /// The kind of the device's ``address``.
  public var addressType: AddressType? { property("AddressType")?.string.flatMap(AddressType.init) }

  /// The name that the device advertises or that was read from it.
  public var name: String? { property("Name")?.string }

  /// The RSSI of the last advertisement, in dBm; `nil` when unknown, as after all scans have ended: bluetoothd then
  /// discards it. A controller that does not measure it reports 127 (Core Specification 4.E.7.7.65.2), which is unknown
  /// too.
  public var rssi: Int? {
    property("RSSI")?.integer(as: Int.self).flatMap { $0 == 127 ? nil : $0 }
  }

  /// The services that the device advertises, or that were read from it.
  public var advertisedServices: Set<BluetoothUUID> { advertisement.services }

  /// The advertising data of the device, as one value; empty when the handle is stale.
  public var advertisement: AdvertisementData {
    core.state.withLock { state in
      guard state.generation == generation else { return AdvertisementData() }
      let cache = state.cache
      return AdvertisementData(cache.properties(path, Self.interface) ?? [:], heard: cache.advertisedServices[path])
    }
  }

  /// A Boolean value that indicates whether the device is connected.
  ///
  /// A link over Bluetooth Classic alone does not count where bluetoothd reports both kinds of link apart, which
  /// `bluetoothd -E` does from BlueZ 5.84 on; elsewhere it does.
  public var isConnected: Bool { property("Connected")?.bool ?? false }

  /// A Boolean value that indicates whether the device's GATT services have been read.
  public var servicesResolved: Bool { property("ServicesResolved")?.bool ?? false }

  /// Returns any property of `org.bluez.Device1`; `nil` when it is absent or the handle is stale.
  public func property(_ name: String) -> Value? {
    core.state.withLock { state in
      state.generation == generation ? state.cache.properties(path, Self.interface)?[name] : nil
    }
  }

  /// A change of a device or of its connection.
  public enum Event: Sendable, Hashable {
    /// A connection to the device was established.
    case connected
    /// The connection to the device ended. The reason is `nil` before BlueZ 5.83, which does not report it.
    case disconnected(DisconnectReason?)
    /// The GATT services of the device can be used now.
    case servicesResolved
    /// The peer changed its GATT services during the connection: handles to those that it withdrew are stale. bluetoothd
    /// adds and removes one service at a time, and each is an event.
    case servicesChanged
    /// The device advertised and was received with this RSSI, in dBm.
    case rssi(Int)
    /// The battery has this level, 0 to 100 percent; see ``Device/batteryLevel``.
    case batteryLevel(Int)
    /// The private address of the device was resolved to this permanent one: the device is now bonded.
    case identityResolved(BluetoothAddress)
    /// Another property changed, which has this name.
    case property(String)
    /// bluetoothd has forgotten the device or has stopped; the handle is stale.
    case gone
  }

  /// Returns the events of the device from now on.
  ///
  /// ```swift
  /// for await event in device.events() {
  ///   switch event {
  ///   case .connected: print("connected")
  ///   case .disconnected(let reason): print("disconnected:", reason?.description ?? "unknown reason")
  ///   default: continue
  ///   }
  /// }
  /// ```
  /// - Parameter limit: The capacity of the stream; when it is full the oldest events are dropped.
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
      case .added(let child, let interfaces), .removed(let child, let interfaces):
        guard interfaces.contains(InterfaceName.service), child.isWithin(path) else { return [] }
        return core.state.withLock { Self.isResolved(path, in: $0.cache) } ? [.servicesChanged] : []
      case .changed(path, Self.batteryInterface, _, _):
        return core.state.withLock { Self.batteryLevel(path, in: $0.cache) }.map { [.batteryLevel($0)] } ?? []
      default: return []
      }
    }
  }

  private static func isResolved(_ path: ObjectPath, in cache: ObjectCache) -> Bool {
    cache.properties(path, interface)?["ServicesResolved"]?.bool == true
  }

  /// Throws when the handle is stale.
  func check() throws {
    let (now, known) = core.state.withLock { ($0.generation, $0.cache.properties(path, Self.interface) != nil) }
    guard now == generation else {
      throw BlueZError(.staleHandle, "bluetoothd restarted since \(peer) was found", hint: "scan for it again")
    }
    guard known else {
      throw BlueZError(.staleHandle, "bluetoothd has forgotten \(peer)", hint: "scan for it again")
    }
  }
}
