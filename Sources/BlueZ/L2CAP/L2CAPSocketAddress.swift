/// The kernel's `struct sockaddr_l2` (include/net/bluetooth/l2cap.h), which Glibc does not have: family in the
/// machine's byte order, PSM, address and channel with the lowest byte first, and one byte to fill up.
struct L2CAPSocketAddress: Sendable, Hashable {
  /// `sizeof(struct sockaddr_l2)`.
  static let size = 14
  /// `AF_BLUETOOTH` (include/linux/socket.h).
  static let family: UInt16 = 31

  /// 0 where the kernel is to choose.
  var psm: UInt16
  var address: BluetoothAddress
  var type: AddressType

  init(psm: UInt16, address: BluetoothAddress, type: AddressType) {
    self.psm = psm
    self.address = address
    self.type = type
  }

  /// - Returns: `nil` for what is no LE address of L2CAP.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size, bytes.withUnsafeBytes({ $0.loadUnaligned(as: UInt16.self) }) == Self.family
    else { return nil }
    psm = UInt16(bytes[2]) | UInt16(bytes[3]) << 8
    address = BluetoothAddress(littleEndian: bytes[4..<10])
    switch bytes[12] {
    case Self.number(of: .public): type = .public
    case Self.number(of: .random): type = .random
    default: return nil
    }
  }

  var bytes: [UInt8] {
    withUnsafeBytes(of: Self.family) { Array($0) } + [UInt8(psm & 0xff), UInt8(psm >> 8)] + address.littleEndian
      // No fixed channel: the PSM says which.
      + [0, 0] + [Self.number(of: type), 0]
  }

  /// `BDADDR_LE_PUBLIC` and `BDADDR_LE_RANDOM` (include/net/bluetooth/bluetooth.h).
  private static func number(of type: AddressType) -> UInt8 { type == .public ? 1 : 2 }
}

extension BluetoothAddress {
  /// The six bytes as they go over the air and into the kernel: the last pair of the text first.
  var littleEndian: [UInt8] {
    description.split(separator: ":").reversed().compactMap { UInt8($0, radix: 16) }
  }

  /// - Parameter bytes: six of them.
  init(littleEndian bytes: some Collection<UInt8>) {
    description = bytes.reversed().map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
      .joined(separator: ":")
  }
}
