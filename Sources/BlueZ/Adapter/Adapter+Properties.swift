public import DBus
public import Streams

/// The typed properties of an adapter. Each is also a stream, see ``Adapter/values(of:limit:)``.
extension Adapter {
  /// The kernel's name, such as `hci0`; `nil` while the adapter is absent.
  public var name: String? { path.map { String($0.lastElement) } }

  /// The kind of the adapter's address; `nil` while the adapter is absent.
  public var addressType: AddressType? { property("AddressType")?.string.flatMap(AddressType.init) }

  /// The name that the adapter presents to other devices; see ``setAlias(_:)``.
  public var alias: String? { property("Alias")?.string }

  /// The default name, usually the host's; ``alias`` is the same until it is changed.
  public var systemName: String? { property("Name")?.string }

  /// A Boolean value that indicates whether the adapter is switched on.
  public var isPowered: Bool { property("Powered")?.bool ?? false }

  /// The progress of switching the adapter on or off. BlueZ 5.66 reports it only under `bluetoothd -E`.
  public var powerState: PowerState? { property("PowerState")?.string.flatMap(PowerState.init) }

  /// A Boolean value that indicates whether bluetoothd is scanning with this adapter, for any program.
  public var isDiscovering: Bool { property("Discovering")?.bool ?? false }

  /// A Boolean value that indicates whether Classic devices can discover the adapter. An LE advertisement has a flag of
  /// its own for that.
  public var isDiscoverable: Bool { property("Discoverable")?.bool ?? false }

  /// The duration after which ``isDiscoverable`` ends; `nil` is never.
  public var discoverableTimeout: Duration? { seconds("DiscoverableTimeout") }

  /// The duration after which ``isPairable`` ends; `nil` is never.
  public var pairableTimeout: Duration? { seconds("PairableTimeout") }

  /// The GAP roles that the adapter supports.
  public var roles: Set<Role> { Set((property("Roles")?.strings ?? []).compactMap(Role.init)) }

  /// The services of the GATT server that all programs share, and the profiles of bluetoothd itself.
  public var services: Set<BluetoothUUID> { uuids("UUIDs") }

  /// The Class of Device that Classic devices see; 0 is unknown.
  public var deviceClass: UInt32 { property("Class")?.integer() ?? 0 }

  /// The vendor, product and version of the host, such as `usb:v1D6Bp0246d0542`.
  public var modalias: String? { property("Modalias")?.string }

  /// The company identifier of the controller's manufacturer; `nil` when bluetoothd does not report it, as in 5.66.
  public var manufacturer: UInt16? { property("Manufacturer")?.integer() }

  /// The UUIDs of the kernel's experimental features that are enabled.
  public var experimentalFeatures: Set<BluetoothUUID> { uuids("ExperimentalFeatures") }

  /// Returns any property of `org.bluez.Adapter1`; `nil` when it is absent.
  public func property(_ name: String) -> Value? {
    path.flatMap { core.property($0, Self.interface, name) }
  }

  /// The interfaces that the typed properties are read from.
  private static let interfaces: Set<String> = [interface, "org.bluez.LEAdvertisingManager1"]

  private func seconds(_ name: String) -> Duration? {
    property(name)?.integer(as: UInt32.self).flatMap { $0 == 0 ? nil : .seconds($0) }
  }

  private func uuids(_ name: String) -> Set<BluetoothUUID> {
    Set((property(name)?.strings ?? []).compactMap(BluetoothUUID.init))
  }

  /// A GAP role that an adapter supports.
  public enum Role: String, Sendable, Hashable {
    /// The adapter can connect to peripherals.
    case central
    /// The adapter can be connected to by centrals.
    case peripheral
    /// The adapter can be central and peripheral at once.
    case centralAndPeripheral = "central-peripheral"
  }

  /// The progress of switching an adapter on or off.
  public enum PowerState: String, Sendable, Hashable {
    /// The adapter is switched on.
    case on
    /// The adapter is switched off.
    case off
    /// The adapter is being switched on.
    case turningOn = "off-enabling"
    /// The adapter is being switched off.
    case turningOff = "on-disabling"
    /// The adapter is off and blocked from being switched on; see `rfkill list`.
    case blocked = "off-blocked"
  }

  /// Returns the present value of a property, and every value it changes to.
  ///
  /// ```swift
  /// for await isOn in adapter.values(of: \.isPowered) { print(isOn ? "on" : "off") }
  /// ```
  ///
  /// The stream finishes when the session is closed. While the adapter is absent a property has its value for that case: `nil`, `false`, or empty.
  /// - Parameters:
  ///   - property: The property of the adapter.
  ///   - limit: The capacity of the stream; when it is full the oldest values are dropped.
  public func values<V: Sendable & Equatable>(
    of property: any KeyPath<Adapter, V> & Sendable, limit: Int = 16
  ) -> BoundedStream<V> {
    let last = Lock<V?>(nil)
    let ids = Lock<[Int]>([])
    let core = core
    let (stream, source) = BoundedStream.make(
      of: V.self, limit: limit, onTermination: { for id in ids.withLock({ $0 }) { core.stopObserving(id) } })
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
      // Devices that are added and removed do not change a property of an adapter.
      case .changed(_, let interface, _, _): if Self.interfaces.contains(interface) { look() }
      case .added(_, let interfaces), .removed(_, let interfaces):
        if !Self.interfaces.isDisjoint(with: interfaces) { look() }
      case .serviceUp, .serviceDown, .restored: look()
      }
    }
    ids.withLock { $0 = [observer] }
    look()
    if let ending = core.onClose({ source.finish() }) { ids.withLock { $0.append(ending) } }
    return stream
  }
}
