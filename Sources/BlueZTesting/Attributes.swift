import BlueZ
import DBus

/// A service, characteristic or descriptor of a program, and its handle.
struct Attribute: Sendable, Hashable {
  /// The unique name of the program on the bus.
  var owner: String
  /// The object of the program; `nil` for the client configuration, which bluetoothd provides itself.
  var path: ObjectPath?
  var uuid: String
  var handle: UInt16
  var flags: Set<String> = []
  /// A Boolean value that indicates whether the program provides a socket for notifications.
  var givesNotifySocket = false
  var givesWriteSocket = false
}

/// A service with its characteristics.
struct AttributeService: Sendable, Hashable {
  struct Characteristic: Sendable, Hashable {
    var attribute: Attribute
    var descriptors: [Attribute]
  }

  var attribute: Attribute
  var isPrimary: Bool
  /// The services that it includes, by the program's object paths.
  var includes: [ObjectPath]
  var characteristics: [Characteristic]
}

extension AttributeService {
  /// The client configuration, which bluetoothd adds to characteristics that notify or indicate.
  static let clientConfiguration = "00002902-0000-1000-8000-00805f9b34fb"

  /// Reads the objects of an application, in the order of their names, and assigns handles.
  /// - Parameters:
  ///   - objects: The reply of the application's object manager.
  ///   - owner: The program.
  ///   - handle: The first free handle; afterwards the first free one after these.
  /// - Throws: `DBusError` as bluetoothd reports it.
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
      // A program may choose its handles.
      if let chosen: UInt16 = properties["Handle"]?.integer(), chosen >= handle { handle = chosen }
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
        let own = all(Names.descriptor, where: "Characteristic", is: path)
        var descriptors: [Attribute] = []
        // A recorded device has its own, at a handle of its own.
        if characteristic.sendsValues, !own.contains(where: { isConfiguration(objects[$0]) }) {
          descriptors.append(Attribute(owner: owner, uuid: clientConfiguration, handle: handle))
          handle += 1
        }
        descriptors += try own.map { path in
          try attribute(path, Names.descriptor).withoutObject(if: isConfiguration(objects[path]))
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

  private static func isConfiguration(_ object: [String: [String: Value]]?) -> Bool {
    object?[Names.descriptor]?["UUID"]?.string == clientConfiguration
  }
}

extension Attribute {
  /// Returns the attribute without the program's object, for one that bluetoothd provides itself.
  fileprivate func withoutObject(if isOwn: Bool) -> Attribute {
    var attribute = self
    if isOwn { attribute.path = nil }
    return attribute
  }

  /// The flags as a central sees them: the declaration over the air does not contain encryption.
  var shownFlags: [String] {
    let declared = [
      "broadcast", "read", "write-without-response", "write", "notify", "indicate", "authenticated-signed-writes",
      "extended-properties", "reliable-write", "writable-auxiliaries",
    ]
    return declared.filter { allows($0) }
  }

  /// Returns `true` if an operation is permitted over any kind of connection.
  func allows(_ flag: String) -> Bool {
    flags.contains(flag) || required(flag) != nil
  }

  /// A Boolean value that indicates whether centrals can subscribe.
  var sendsValues: Bool { allows("notify") || allows("indicate") }

  /// Returns the security level that an operation requires; `nil` if it is permitted over any connection.
  func required(_ flag: String) -> SecurityLevel? {
    Self.protections.filter { flags.contains($0.prefix + flag) }.map(\.level).max()
  }

  /// The prefixes of protected operations; the fake has only keys of 16 bytes.
  private static let protections: [(prefix: String, level: SecurityLevel)] = [
    ("encrypt-", .medium), ("encrypt-authenticated-", .high), ("secure-", .fips),
  ]

  /// Returns the last element of the attribute's path at the central, as bluetoothd names it.
  func name(_ kind: String) -> String {
    let digits = String(handle, radix: 16)
    return kind + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
