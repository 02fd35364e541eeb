/// A GATT service this program offers.
public final class LocalService: Sendable {
  /// What it is.
  public let uuid: BluetoothUUID
  /// Whether it stands for itself; a secondary service is only included by others.
  public let isPrimary: Bool
  /// The services it includes. They are offered with it, once, also when several include them.
  public let includes: [LocalService]
  /// What it is made of.
  public let characteristics: [LocalCharacteristic]

  /// Describes a service.
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
  /// These and all they include, each once, the included before those that include them: bluetoothd looks them up when
  /// it adds the service, and leaves out what it does not find.
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

/// A descriptor of a characteristic this program offers.
public struct LocalDescriptor: Sendable {
  /// What it is.
  public var uuid: BluetoothUUID
  /// What may be done with it.
  public var flags: CharacteristicFlags
  /// Answers a read with the whole value, at most 512 bytes.
  public var read: (@Sendable (ReadRequest) async throws -> [UInt8])?
  /// Takes a write.
  public var write: (@Sendable (WriteRequest) async throws -> Void)?
  /// Asked whether a central may begin a long write, as for a ``LocalCharacteristic``.
  public var authorize: (@Sendable (WriteRequest) async throws -> Void)?

  /// Describes a descriptor.
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

  /// A descriptor whose value never changes, such as a user description (`2901`).
  public init(_ uuid: BluetoothUUID, value: [UInt8]) {
    self.init(uuid, .read, read: { _ in value })
  }
}
