/// A GATT service this program offers.
public struct LocalService: Sendable {
  /// What it is.
  public var uuid: BluetoothUUID
  /// Whether it stands for itself; a secondary service is only included by others.
  public var isPrimary: Bool
  /// What it is made of.
  public var characteristics: [LocalCharacteristic]

  /// Describes a service.
  public init(_ uuid: BluetoothUUID, isPrimary: Bool = true, characteristics: [LocalCharacteristic]) {
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.characteristics = characteristics
  }
}

/// A descriptor of a characteristic this program offers.
public struct LocalDescriptor: Sendable {
  /// What it is.
  public var uuid: BluetoothUUID
  /// What may be done with it.
  public var flags: CharacteristicFlags
  /// Answers a read with the whole value.
  public var read: (@Sendable (ReadRequest) async throws -> [UInt8])?
  /// Takes a write.
  public var write: (@Sendable (WriteRequest) async throws -> Void)?

  /// Describes a descriptor.
  public init(
    _ uuid: BluetoothUUID, _ flags: CharacteristicFlags,
    read: (@Sendable (ReadRequest) async throws -> [UInt8])? = nil,
    write: (@Sendable (WriteRequest) async throws -> Void)? = nil
  ) {
    self.uuid = uuid
    self.flags = flags
    self.read = read
    self.write = write
  }

  /// A descriptor whose value never changes, such as a user description (`2901`).
  public init(_ uuid: BluetoothUUID, value: [UInt8]) {
    self.init(uuid, .read, read: { _ in value })
  }
}
