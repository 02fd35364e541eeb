import DBus

/// The services that devices advertised.
///
/// bluetoothd's own list is no longer updated from advertisements once the GATT services of a device were read, and is
/// left empty when the connection ended while they were read (5.66); such a device would never again be found by its
/// service.
struct AdvertisedServices: Sendable {
  private var services: [ObjectPath: Set<BluetoothUUID>] = [:]

  subscript(_ path: ObjectPath) -> Set<BluetoothUUID> { services[path] ?? [] }

  /// Records a new list of a device's services. During a connection the list was read from the device, not advertised.
  mutating func note(_ path: ObjectPath, _ device: [String: Value]) {
    guard device["Connected"]?.bool != true, let list = device["UUIDs"]?.strings, !list.isEmpty else { return }
    services[path, default: []].formUnion(list.compactMap(BluetoothUUID.init))
  }

  /// Forgets all devices but some.
  mutating func keep(_ isKept: (ObjectPath) -> Bool) { services = services.filter { isKept($0.key) } }

  mutating func forget(_ path: ObjectPath) { services[path] = nil }
}
