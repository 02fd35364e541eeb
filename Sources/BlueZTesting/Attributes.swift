import BlueZ
import DBus

/// A service, characteristic or descriptor that a program offers, and the handle it got.
struct Attribute: Sendable, Hashable {
  /// The program: its unique name on the bus.
  var owner: String
  /// Its object there; `nil` for what bluetoothd makes itself, the client configuration.
  var path: ObjectPath?
  var uuid: String
  var handle: UInt16
  var flags: Set<String> = []
  /// Whether the program hands out sockets for it.
  var givesNotifySocket = false
  var givesWriteSocket = false
}

/// A service with what is in it.
struct AttributeService: Sendable, Hashable {
  struct Characteristic: Sendable, Hashable {
    var attribute: Attribute
    var descriptors: [Attribute]
  }

  var attribute: Attribute
  var isPrimary: Bool
  /// The services it includes, as the program names them.
  var includes: [ObjectPath]
  var characteristics: [Characteristic]
}

extension AttributeService {
  /// The client configuration, which bluetoothd adds to whatever notifies or indicates.
  static let clientConfiguration = "00002902-0000-1000-8000-00805f9b34fb"

  /// Reads the objects of an application, in the order of their names, and gives them handles.
  /// - Parameters:
  ///   - objects: what its object manager answered.
  ///   - owner: the program.
  ///   - handle: the first free handle; afterwards the first free one behind these.
  /// - Throws: `DBusError` as bluetoothd refuses an application.
  static func read(
    _ objects: [ObjectPath: [String: [String: Value]]], of owner: String, from handle: inout UInt16
  ) throws -> [AttributeService] {
    func all(_ interface: String, where property: String? = nil, is parent: ObjectPath? = nil) -> [ObjectPath] {
      objects.filter { _, interfaces in
        guard let properties = interfaces[interface] else { return false }
        return property.map { properties[$0]?.objectPath == parent } ?? true
      }.keys.sorted()
    }
    func attribute(_ path: ObjectPath, _ interface: String) throws -> Attribute {
      let properties = objects[path]?[interface] ?? [:]
      guard let uuid = properties["UUID"]?.string.flatMap(BluetoothUUID.init) else {
        throw DBusError.bluez("Failed", "Failed to create entry in database")
      }
      defer { handle += 1 }
      return Attribute(
        owner: owner, path: path, uuid: uuid.description, handle: handle,
        flags: Set(properties["Flags"]?.strings ?? []), givesNotifySocket: properties["NotifyAcquired"] != nil,
        givesWriteSocket: properties["WriteAcquired"] != nil)
    }

    let services = try all(Names.gattService).map { path in
      let properties = objects[path]?[Names.gattService] ?? [:]
      let service = try attribute(path, Names.gattService)
      let characteristics = try all(Names.characteristic, where: "Service", is: path).map { path in
        let characteristic = try attribute(path, Names.characteristic)
        // The value's own handle follows that of its declaration.
        handle += 1
        var descriptors: [Attribute] = []
        if characteristic.sendsValues {
          descriptors.append(Attribute(owner: owner, uuid: clientConfiguration, handle: handle))
          handle += 1
        }
        descriptors += try all(Names.descriptor, where: "Characteristic", is: path).map {
          try attribute($0, Names.descriptor)
        }
        return Characteristic(attribute: characteristic, descriptors: descriptors)
      }
      return AttributeService(
        attribute: service, isPrimary: properties["Primary"]?.bool ?? true,
        includes: properties["Includes"]?.objectPaths ?? [], characteristics: characteristics)
    }
    guard !services.isEmpty else { throw DBusError.bluez("Failed", "No object received") }
    return services
  }
}

extension Attribute {
  /// The flags as a central sees them: what is declared over the air, which says nothing of encryption.
  var shownFlags: [String] {
    let declared = [
      "broadcast", "read", "write-without-response", "write", "notify", "indicate", "authenticated-signed-writes",
      "extended-properties", "reliable-write", "writable-auxiliaries",
    ]
    return declared.filter { allows($0) }
  }

  /// Whether something may be done with it, over whatever kind of link.
  func allows(_ flag: String) -> Bool {
    flags.contains(flag) || Self.protections.contains { flags.contains($0 + flag) }
  }

  /// Whether it can be subscribed to.
  var sendsValues: Bool { allows("notify") || allows("indicate") }

  /// Whether something may be done over an encrypted link only.
  func protects(_ flag: String) -> Bool { Self.protections.contains { flags.contains($0 + flag) } }

  /// Keys of 16 bytes made by LE Secure Connections are the only ones the fake has: encrypted is as good as secure.
  private static let protections = ["encrypt-", "encrypt-authenticated-", "secure-"]

  /// The last element of its path at the central, as bluetoothd names it.
  func name(_ kind: String) -> String {
    let digits = String(handle, radix: 16)
    return kind + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
