/// The kernel's `struct sockaddr_l2` (include/net/bluetooth/l2cap.h), which Glibc does not declare: family in the
/// host's byte order, PSM, address and channel with the least significant byte first, and one byte of padding.
package struct L2CAPSocketAddress: Sendable, Hashable {
  /// `sizeof(struct sockaddr_l2)`.
  static let size = 14

  /// The PSM; 0 lets the kernel choose.
  package var psm: UInt16
  package var address: BluetoothAddress
  package var type: AddressType

  package init(psm: UInt16, address: BluetoothAddress, type: AddressType) {
    self.psm = psm
    self.address = address
    self.type = type
  }

  /// - Returns: `nil` for anything other than an LE address of L2CAP.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size,
      bytes.withUnsafeBytes({ $0.loadUnaligned(as: UInt16.self) }) == BluetoothSocket.family,
      let address = BluetoothAddress(littleEndian: bytes[4..<10])
    else { return nil }
    psm = UInt16(bytes[2]) | UInt16(bytes[3]) << 8
    self.address = address
    switch bytes[12] {
    case Self.number(of: .public): type = .public
    case Self.number(of: .random): type = .random
    default: return nil
    }
  }

  var bytes: [UInt8] {
    withUnsafeBytes(of: BluetoothSocket.family) { Array($0) } + [UInt8(psm & 0xff), UInt8(psm >> 8)]
      + address.littleEndian
      // No fixed channel: the PSM determines it.
      + [0, 0] + [Self.number(of: type), 0]
  }

  /// `BDADDR_LE_PUBLIC` and `BDADDR_LE_RANDOM` (include/net/bluetooth/bluetooth.h).
  private static func number(of type: AddressType) -> UInt8 { type == .public ? 1 : 2 }
}
