import BlueZ
import DBus

/// The position of a remote device in the fake.
struct Place: Sendable, Hashable {
  var adapter: Int
  var device: BluetoothAddress
}

/// The surroundings of the mirrored objects below one remote device.
struct MirrorContext {
  let place: Place
  let faults: Faults
  let daemon: Daemon
  let connection: Connection
  let mtu: UInt16
}

/// The objects of one service of a remote device.
final class MirroredService: Sendable {
  private let object: ServedObject
  private let characteristics: [MirroredCharacteristic]
  /// The characteristics by the handles of their descriptors.
  private let owners: [UInt16: MirroredCharacteristic]
  private let descriptors: [ServedObject]

  init(
    _ service: AttributeService, of device: ServedObject, includes: [ObjectPath], _ mirror: MirrorContext
  ) throws {
    let path = try device.path.appending(service.attribute.name("service"))
    object = try ServedObject(
      mirror.connection, path,
      [
        .init(
          name: Names.gattService, types: ["UUID": "s", "Device": "o", "Primary": "b", "Includes": "ao"],
          values: [
            "UUID": .string(service.attribute.uuid), "Device": .objectPath(device.path),
            "Primary": .bool(service.isPrimary), "Includes": .objectPaths(includes),
          ])
      ], logger: mirror.daemon.logger)
    var characteristics: [MirroredCharacteristic] = []
    var descriptors: [ServedObject] = []
    var owners: [UInt16: MirroredCharacteristic] = [:]
    for one in service.characteristics {
      let characteristic = try MirroredCharacteristic(one.attribute, below: path, mirror)
      characteristics.append(characteristic)
      for descriptor in one.descriptors {
        owners[descriptor.handle] = characteristic
        let path = try characteristic.object.path.appending(descriptor.name("desc"))
        let part = characteristic.part(of: descriptor, mirror)
        descriptors.append(try ServedObject(mirror.connection, path, [part], logger: mirror.daemon.logger))
      }
    }
    self.characteristics = characteristics
    self.descriptors = descriptors
    self.owners = owners
  }

  func characteristic(withDescriptor handle: UInt16) -> MirroredCharacteristic? { owners[handle] }

  func characteristic(_ handle: UInt16) -> MirroredCharacteristic? {
    characteristics.first { $0.attribute.handle == handle }
  }

  /// Removes all objects from the bus, the innermost first.
  func remove() {
    linkEnded()
    for object in descriptors + characteristics.map(\.object) + [object] { object.remove() }
  }

  func linkEnded() {
    for characteristic in characteristics { characteristic.linkEnded() }
  }

  func clientLeft(_ client: String) {
    for characteristic in characteristics { characteristic.removeClient(client) }
  }

  /// bluetoothd does not signal the MTU of services that it remembers from an earlier link.
  func setMTU(_ mtu: UInt16) {
    for characteristic in characteristics {
      characteristic.object.set(Names.characteristic, ["MTU": .uint16(mtu)], silently: true)
    }
  }
}
