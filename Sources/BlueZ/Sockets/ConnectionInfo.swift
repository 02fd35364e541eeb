import Glibc
import Streams

/// A connection of an adapter as the kernel knows it, with what bluetoothd does not report.
///
/// ```swift
/// for connection in try adapter.connections() where !connection.isEncrypted {
///   print(connection.address, "is not encrypted")
/// }
/// ```
public struct ConnectionInfo: Sendable, Hashable {
  /// The radio technology that carries the connection.
  public var type: LinkType
  /// The address of the peer; its identity address where the two are bonded.
  public var address: BluetoothAddress
  /// A Boolean value that indicates whether the connection is encrypted. A connection to a bonded device is not
  /// encrypted from its first moment, and never when a stranger merely uses the address of a bonded device.
  public var isEncrypted: Bool
  /// A Boolean value that indicates whether this host is the central of the connection.
  public var isCentral: Bool

  /// Creates a connection from its fields, for tests of code that decides by them.
  package init(address: BluetoothAddress, isEncrypted: Bool, isCentral: Bool) {
    type = .le
    self.address = address
    self.isEncrypted = isEncrypted
    self.isCentral = isCentral
  }

  /// `sizeof(struct hci_conn_info)` (include/net/bluetooth/hci_sock.h): handle, address, type, direction, state and
  /// mode, in the machine's byte order.
  static let size = 16

  /// - Returns: `nil` for a connection that is not established, or one for voice.
  init?(_ bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    // BT_CONNECTED (include/net/bluetooth/bluetooth.h) is 1.
    guard bytes.count == Self.size,
      bytes.withUnsafeBytes({ $0.loadUnaligned(fromByteOffset: 10, as: UInt16.self) }) == 1,
      let address = BluetoothAddress(littleEndian: bytes[2..<8])
    else { return nil }
    // LE_LINK and ACL_LINK (include/net/bluetooth/hci.h).
    switch bytes[8] {
    case 0x80: type = .le
    case 0x01: type = .classic
    default: return nil
    }
    let mode = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 12, as: UInt32.self) }
    self.address = address
    // HCI_LM_MASTER and HCI_LM_ENCRYPT (include/net/bluetooth/hci.h).
    isCentral = mode & 0x1 != 0
    isEncrypted = mode & 0x4 != 0
  }
}

extension ConnectionInfo {
  /// The largest number of connections requested; `HCIGETCONNLIST` accepts no more on hosts with pages of 4 KiB.
  private static let mostLinks: UInt16 = 512

  /// Returns the connections of an adapter of this host.
  static func list(of index: UInt16, doing: String) throws -> [ConnectionInfo] {
    // BTPROTO_HCI (include/net/bluetooth/bluetooth.h) is 1.
    let number = socket(Int32(BluetoothSocket.family), Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 1)
    guard number >= 0 else { throw BlueZError(errno: errno, while: doing) }
    let descriptor = FileDescriptor(owning: number)
    defer { descriptor.close() }
    // struct hci_conn_list_req: the adapter's number and the capacity for connections, then the connections.
    let size = MemoryLayout<UInt32>.size + Self.size * Int(mostLinks)
    return try withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
      buffer.initializeMemory(as: UInt8.self, repeating: 0)
      buffer.storeBytes(of: index, as: UInt16.self)
      buffer.storeBytes(of: mostLinks, toByteOffset: 2, as: UInt16.self)
      // HCIGETCONNLIST, _IOR('H', 212, int) (include/net/bluetooth/hci_sock.h).
      guard let start = buffer.baseAddress, ioctl(number, 0x8004_48d4, start) == 0 else {
        throw BlueZError(errno: errno, while: doing)
      }
      let count = Int(buffer.load(fromByteOffset: 2, as: UInt16.self))
      return (0..<count).compactMap {
        ConnectionInfo(buffer.dropFirst(4 + Self.size * $0).prefix(Self.size))
      }
    }
  }
}
