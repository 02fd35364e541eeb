import BlueZ

/// A device at the other end of a connection.
open class CBPeer: NSObject, @unchecked Sendable {
  // Sound: the only stored property never changes.

  /// The identifier of the device, made of its Bluetooth address.
  ///
  /// It is the same in each program on each Linux computer, as long as the device keeps its address. One with a private
  /// address has another identifier each time that the address changes, until it is bonded.
  public let identifier: UUID

  init(identifier: UUID) {
    self.identifier = identifier
  }
}

extension BluetoothAddress {
  /// The bytes in front of the address in an identifier: a UUID of version 8, whose content is its maker's (RFC 9562).
  private static let prefix: [UInt8] = [0xed, 0x6e, 0xb1, 0x0e, 0x00, 0x00, 0x80, 0x00, 0x80, 0x00]

  /// The identifier that CoreBluetooth's classes have for the device with this address.
  var identifier: UUID {
    let bytes = Self.prefix + littleEndian.reversed()
    return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
  }

  /// Returns the address in an identifier; `nil` for a UUID of another origin.
  init?(identifier: UUID) {
    let bytes = withUnsafeBytes(of: identifier.uuid) { Array($0) }
    guard bytes.starts(with: Self.prefix) else { return nil }
    self.init(littleEndian: bytes.suffix(6).reversed())
  }
}
