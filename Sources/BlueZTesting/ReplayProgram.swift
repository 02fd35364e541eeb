import BlueZ
import Btsnoop
import DBus
import Streams

/// A recorded device in the fake: the objects that bluetoothd's counterpart would ask over the air, on a connection of
/// their own.
final class ReplayProgram: Sendable {
  let address: BluetoothAddress
  let connection: Connection
  let client: VirtualAdapter.Client
  let air: AirAdvertisement
  let rssi: Int16?
  let mtu: UInt16
  let player: ReplayPlayer
  /// A Boolean value that indicates whether the recording shows services that bluetoothd does not keep to itself.
  let hasServices: Bool
  private let objects: Lock<[ExportedObject]>

  static let root: ObjectPath = "/replay"

  init(_ device: RecordedDevice, pace: Double, on connection: Connection) throws {
    guard let address = BluetoothAddress(device.address.description), let name = connection.uniqueName else {
      throw DBusError.bluez("Failed", "the recorded device has no address")
    }
    self.address = address
    self.connection = connection
    client = VirtualAdapter.Client(name: name, path: Self.root)
    air = AirAdvertisement(device)
    rssi = device.rssi.map(Int16.init(clamping:))
    mtu = UInt16(clamping: max(device.mtu, 23))
    hasServices = device.table.services.contains { !$0.isOfBluetoothd }
    let player = ReplayPlayer(device, pace: pace)
    self.player = player
    objects = Lock([])
    var exported = [try connection.export(Self.root, objectManager: true)]
    for service in device.table.services where !service.isOfBluetoothd {
      exported += try Self.objects(of: service, device, connection, player)
    }
    let all = exported
    objects.withLock { $0 = all }
  }

  /// Takes the device out of range.
  func close() {
    let gone = objects.withLock { objects in
      defer { objects = [] }
      return objects
    }
    for object in gone { object.remove() }
    connection.close()
    Task { [player] in await player.stop() }
  }

  private static func name(_ kind: String, _ handle: UInt16) -> String {
    let digits = String(handle, radix: 16)
    return kind + String(repeating: "0", count: 4 - digits.count) + digits
  }

  private static func objects(
    of service: AttributeTable.Service, _ device: RecordedDevice, _ connection: Connection, _ player: ReplayPlayer
  ) throws -> [ExportedObject] {
    let path = try root.appending(name("service", service.handle))
    var objects = [
      try connection.export(
        path,
        [
          Interface(
            Names.gattService,
            properties: [
              .init("UUID", .string(service.uuid.description)), .init("Primary", .bool(service.isPrimary)),
              .init("Handle", .uint16(service.handle)),
            ])
        ])
    ]
    for characteristic in device.table.characteristics
    where device.table.service(around: characteristic.handle) == service {
      objects += try Self.objects(of: characteristic, below: path, device, connection, player)
    }
    return objects
  }

  private static func objects(
    of characteristic: AttributeTable.Characteristic, below service: ObjectPath, _ device: RecordedDevice,
    _ connection: Connection, _ player: ReplayPlayer
  ) throws -> [ExportedObject] {
    let path = try service.appending(name("char", characteristic.handle))
    let handle = characteristic.valueHandle
    let own = device.table.descriptors.filter {
      device.table.characteristic(around: $0.handle)?.handle == characteristic.handle
    }
    let object = try connection.export(
      path,
      [
        Interface(
          Names.characteristic,
          methods: attributeMethods(handle, player) + [
            .init("StartNotify") { _ in
              try await player.subscribe(handle)
              return []
            },
            .init("StopNotify") { _ in
              await player.unsubscribe(handle)
              return []
            },
          ],
          properties: [
            .init("UUID", .string(characteristic.uuid.description)), .init("Service", .objectPath(service)),
            .init("Handle", .uint16(characteristic.handle)),
            .init("Flags", .strings(characteristic.flags(isProtected: device.protects(characteristic, own)))),
            .init("Value", "ay", get: { .bytes([]) }),
          ])
      ])
    player.senders.withLock { senders in
      senders[handle] = { [weak object] value in
        try? object?.emitPropertiesChanged(Names.characteristic, ["Value": .bytes(value)])
      }
    }
    return try [object] + own.map { try Self.object(of: $0, below: path, device, connection, player) }
  }

  private static func object(
    of descriptor: AttributeTable.Descriptor, below characteristic: ObjectPath, _ device: RecordedDevice,
    _ connection: Connection, _ player: ReplayPlayer
  ) throws -> ExportedObject {
    let isProtected = device.protected.contains(descriptor.handle)
    return try connection.export(
      try characteristic.appending(name("desc", descriptor.handle)),
      [
        Interface(
          Names.descriptor, methods: attributeMethods(descriptor.handle, player),
          properties: [
            .init("UUID", .string(descriptor.uuid.description)), .init("Characteristic", .objectPath(characteristic)),
            .init("Handle", .uint16(descriptor.handle)),
            .init("Flags", .strings(isProtected ? ["encrypt-read", "encrypt-write"] : ["read", "write"])),
          ])
      ])
  }

  private static func attributeMethods(_ handle: UInt16, _ player: ReplayPlayer) -> [Interface.Method] {
    let options = Interface.Argument("options", "a{sv}")
    return [
      .init("ReadValue", in: [options], out: [.init("value", "ay")]) { call in
        let offset = call.arguments[0].properties?["offset"]?.integer(as: Int.self) ?? 0
        return [.bytes(try await player.read(handle, from: offset))]
      },
      .init("WriteValue", in: [.init("value", "ay"), options]) { call in
        let offset = call.arguments[1].properties?["offset"]?.integer(as: Int.self) ?? 0
        try await player.write(handle, call.arguments[0].bytes ?? [], at: offset)
        return []
      },
    ]
  }
}

extension AttributeTable.Service {
  /// A Boolean value that indicates whether bluetoothd keeps the service to itself: Generic Access and Generic Attribute.
  fileprivate var isOfBluetoothd: Bool { uuid.short == 0x1800 || uuid.short == 0x1801 }
}

extension AttributeTable.Characteristic {
  /// The flags as a program declares them.
  fileprivate func flags(isProtected: Bool) -> [String] {
    let names = [
      "broadcast", "read", "write-without-response", "write", "notify", "indicate", "authenticated-signed-writes",
      "extended-properties",
    ]
    return names.enumerated().filter { properties & 1 << UInt8($0.offset) != 0 }.map { _, name in
      isProtected && ["read", "write", "notify", "indicate"].contains(name) ? "encrypt-" + name : name
    }
  }
}

extension RecordedDevice {
  fileprivate func protects(
    _ characteristic: AttributeTable.Characteristic, _ descriptors: [AttributeTable.Descriptor]
  ) -> Bool {
    protected.contains(characteristic.valueHandle) || descriptors.contains { protected.contains($0.handle) }
  }
}

extension AirAdvertisement {
  /// The advertisement of a recorded device.
  init(_ device: RecordedDevice) {
    self.init(nil, [], [:], isConnectable: true)
    let data = device.advertisement
    name = data.name
    services = data.services.map(\.description)
    let companies = data.manufacturerData.map { Value.Entry(.uint16($0.company), .variant(.bytes($0.bytes))) }
    manufacturerData = companies.isEmpty ? nil : .dictionary(of: "qv", companies)
    let contents = Dictionary(
      data.serviceData.map { ($0.service.description, Value.bytes($0.bytes)) }, uniquingKeysWith: { $1 })
    serviceData = contents.isEmpty ? nil : .properties(contents)
    txPower = data.transmitPower.map(Int16.init(clamping:))
    appearance = data.appearance
    isConnectable = device.isConnectable
    isDiscoverable = data.flags.map { $0 & 3 != 0 } ?? false
    addressType = device.address.kind == .publicAddress || device.address.kind == .publicIdentity ? "public" : "random"
  }
}

/// The answers of a recorded device as D-Bus carries them from its program to the fake.
extension DBusError {
  private static let replayName = "io.edgeblue.Testing.AttributeError"

  static func replayed(_ error: ATTError) -> DBusError {
    DBusError(name: replayName, message: "\(error.rawValue)")
  }

  /// The number of the error; `nil` for what another program answers.
  var replayedCode: Int? { name == Self.replayName ? Int(message) : nil }

  /// An ATT error as bluetoothd reports it.
  static func answered(_ code: Int) -> DBusError {
    switch code {
    case 0x02: .bluez("NotPermitted", "Read not permitted")
    case 0x03: .bluez("NotPermitted", "Write not permitted")
    case 0x05, 0x0c, 0x0f: .bluez("NotPermitted", "Not paired")
    case 0x06: .notSupported
    case 0x07: .bluez("InvalidArguments", "Invalid offset")
    case 0x08: .bluez("NotAuthorized", "Operation Not Authorized")
    case 0x0d: .bluez("InvalidArguments", "Invalid Length")
    default: .attributeError(code)
    }
  }
}
