import DBus

/// The services that devices were heard to advertise.
///
/// bluetoothd's own list is no longer updated from advertisements once the GATT services of a device were read, and is
/// left empty when the link ended while they were (5.66); such a device would never be found again by its service.
struct HeardServices: Sendable {
  private var services: [ObjectPath: Set<BluetoothUUID>] = [:]

  subscript(_ path: ObjectPath) -> Set<BluetoothUUID> { services[path] ?? [] }

  /// Takes a new list of a device. What comes during a link is read from it, and not heard.
  mutating func note(_ path: ObjectPath, _ device: [String: Value]) {
    guard device["Connected"]?.bool != true, let list = device["UUIDs"]?.strings, !list.isEmpty else { return }
    services[path, default: []].formUnion(list.compactMap(BluetoothUUID.init))
  }

  mutating func forget(_ path: ObjectPath) { services[path] = nil }
}
