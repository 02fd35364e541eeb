/// A GATT service that this program provides.
///
/// ```swift
/// let battery = LocalService("180f", characteristics: [LocalCharacteristic("2a19", value: [80])])
/// let application = try await adapter.offer([battery])
/// print(application.services.count)
/// ```
public final class LocalService: Sendable {
  /// The UUID of the service's type.
  public let uuid: BluetoothUUID
  /// A Boolean value that indicates whether the service is primary; a secondary service is only included by others.
  public let isPrimary: Bool
  /// The services that this service includes. Each is registered once, also when several services include it.
  public let includes: [LocalService]
  /// The characteristics of the service.
  public let characteristics: [LocalCharacteristic]

  /// Creates a service from its characteristics.
  public init(
    _ uuid: BluetoothUUID, isPrimary: Bool = true, includes: [LocalService] = [],
    characteristics: [LocalCharacteristic]
  ) {
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.includes = includes
    self.characteristics = characteristics
  }
}

extension [LocalService] {
  /// These services and all that they include, each once and before those that include it: bluetoothd looks included
  /// services up when it adds a service, and leaves out those that it does not find.
  var withIncluded: [LocalService] {
    var found: [LocalService] = []
    func add(_ service: LocalService) {
      for each in service.includes { add(each) }
      if !found.contains(where: { $0 === service }) { found.append(service) }
    }
    for service in self { add(service) }
    return found
  }
}

/// A GATT descriptor of a characteristic that this program provides.
///
/// ```swift
/// let description = LocalDescriptor("2901", value: Array("Battery of the left shoe".utf8))
/// let level = LocalCharacteristic("2a19", value: [80], descriptors: [description])
/// ```
public struct LocalDescriptor: Sendable {
  /// The UUID of the descriptor's type.
  public var uuid: BluetoothUUID
  /// The operations that the descriptor permits.
  public var flags: CharacteristicFlags
  /// A handler that returns the whole value for a read, at most 512 bytes.
  public var read: (@Sendable (ReadRequest) async throws -> [UInt8])?
  /// A handler that receives a written value.
  public var write: (@Sendable (WriteRequest) async throws -> Void)?
  /// A handler that is called before a central starts a long write, as for a ``LocalCharacteristic``.
  public var authorize: (@Sendable (WriteRequest) async throws -> Void)?

  /// Creates a descriptor with handlers.
  public init(
    _ uuid: BluetoothUUID, _ flags: CharacteristicFlags,
    read: (@Sendable (ReadRequest) async throws -> [UInt8])? = nil,
    write: (@Sendable (WriteRequest) async throws -> Void)? = nil,
    authorize: (@Sendable (WriteRequest) async throws -> Void)? = nil
  ) {
    self.uuid = uuid
    self.flags = flags
    self.read = read
    self.write = write
    self.authorize = authorize
  }

  /// Creates a descriptor whose value never changes, such as a user description (`2901`).
  public init(_ uuid: BluetoothUUID, value: [UInt8]) {
    self.init(uuid, .read, read: { _ in value })
  }
}
