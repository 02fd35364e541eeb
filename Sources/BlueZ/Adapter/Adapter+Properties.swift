public import DBus
public import Streams

/// What bluetoothd tells of an adapter, typed. Every one of these is also a stream, see ``Adapter/values(of:limit:)``.
extension Adapter {
  /// The kernel's name, such as `hci0`; `nil` while the adapter is not there.
  public var name: String? { path.map { String($0.lastElement) } }

  /// The kind of its address; `nil` while the adapter is not there.
  public var addressType: AddressType? { property("AddressType")?.string.flatMap(AddressType.init) }

  /// The name it shows to others.
  public var alias: String? { property("Alias")?.string }

  /// The name it has by itself, most often the machine's; ``alias`` is the same until somebody changes it.
  public var systemName: String? { property("Name")?.string }

  /// Whether it is switched on.
  public var isPowered: Bool { property("Powered")?.bool ?? false }

  /// How switching on or off stands; BlueZ 5.66 tells it only when started as `bluetoothd -E`.
  public var powerState: PowerState? { property("PowerState")?.string.flatMap(PowerState.init) }

  /// Whether bluetoothd is scanning with it, for us or for anyone.
  public var isDiscovering: Bool { property("Discovering")?.bool ?? false }

  /// Whether Classic devices can find it; an LE advertisement has a flag of its own for that.
  public var isDiscoverable: Bool { property("Discoverable")?.bool ?? false }

  /// After what time ``isDiscoverable`` ends by itself; `nil` is never.
  public var discoverableTimeout: Duration? { seconds("DiscoverableTimeout") }

  /// After what time ``isPairable`` ends by itself; `nil` is never.
  public var pairableTimeout: Duration? { seconds("PairableTimeout") }

  /// What it can be.
  public var roles: Set<Role> { Set((property("Roles")?.strings ?? []).compactMap(Role.init)) }

  /// The services of the GATT server that all programs share, and the profiles of bluetoothd itself.
  public var services: Set<BluetoothUUID> { uuids("UUIDs") }

  /// What it shows itself as to Classic devices (the Class of Device field); 0 is unknown.
  public var deviceClass: UInt32 { property("Class")?.integer() ?? 0 }

  /// Vendor, product and version of the host, as `usb:v1D6Bp0246d0542`.
  public var modalias: String? { property("Modalias")?.string }

  /// The company identifier of the controller's manufacturer; `nil` when bluetoothd (5.66) does not tell.
  public var manufacturer: UInt16? { property("Manufacturer")?.integer() }

  /// The experimental features of the kernel that are switched on.
  public var experimentalFeatures: Set<BluetoothUUID> { uuids("ExperimentalFeatures") }

  /// Any property as bluetoothd has it; `nil` when there is none.
  public func property(_ name: String) -> Value? {
    path.flatMap { core.property($0, Self.interface, name) }
  }

  /// Where its typed properties come from.
  private static let interfaces: Set<String> = [interface, "org.bluez.LEAdvertisingManager1"]

  private func seconds(_ name: String) -> Duration? {
    property(name)?.integer(as: UInt32.self).flatMap { $0 == 0 ? nil : .seconds($0) }
  }

  private func uuids(_ name: String) -> Set<BluetoothUUID> {
    Set((property(name)?.strings ?? []).compactMap(BluetoothUUID.init))
  }

  /// What an adapter can be.
  public enum Role: String, Sendable, Hashable {
    /// It can connect.
    case central
    /// It can be connected to.
    case peripheral
    /// It can be both at once.
    case centralAndPeripheral = "central-peripheral"
  }

  /// How switching an adapter on or off stands.
  public enum PowerState: String, Sendable, Hashable {
    /// It is on.
    case on
    /// It is off.
    case off
    /// It is being switched on.
    case turningOn = "off-enabling"
    /// It is being switched off.
    case turningOff = "on-disabling"
    /// It is off and must not be switched on; see `rfkill list`.
    case blocked = "off-blocked"
  }

  /// The value a property has and those it takes, one element for each change.
  ///
  /// ```swift
  /// for await isOn in adapter.values(of: \.isPowered) { print(isOn ? "on" : "off") }
  /// ```
  ///
  /// While the adapter is away a property has the value it has then: `nil`, `false`, empty.
  /// - Parameters:
  ///   - property: any of this adapter's properties.
  ///   - limit: how many values may wait for the reader; beyond that the oldest go.
  public func values<V: Sendable & Equatable>(
    of property: any KeyPath<Adapter, V> & Sendable, limit: Int = 16
  ) -> BoundedStream<V> {
    let last = Lock<V?>(nil)
    let id = Lock<Int?>(nil)
    let core = core
    let (stream, source) = BoundedStream.make(
      of: V.self, limit: limit, onTermination: { if let id = id.withLock({ $0 }) { core.stopObserving(id) } })
    let look: @Sendable () -> Void = {
      last.withLock { last in
        let now = self[keyPath: property]
        guard now != last else { return }
        last = now
        source.yield(now)
      }
    }
    let observer = core.observe { change in
      switch change {
      // The crowd of devices that come and go is no property of an adapter's.
      case .changed(_, let interface, _, _): if Self.interfaces.contains(interface) { look() }
      case .added(_, let interfaces), .removed(_, let interfaces):
        if !Self.interfaces.isDisjoint(with: interfaces) { look() }
      case .serviceUp, .serviceDown, .restored: look()
      }
    }
    id.withLock { $0 = observer }
    look()
    return stream
  }
}
