import Glibc
import Streams

/// The kernel's Bluetooth management interface, by which bluetoothd itself controls the adapters; for operations that
/// bluetoothd does not provide. Needs the capability CAP_NET_ADMIN.
final class ManagementSocket: Sendable {
  private let descriptor: FileDescriptor
  private let loop: PacketLoop
  private let id: Int

  /// - Throws: ``BlueZError``, `.notSupported` where the kernel has no Bluetooth.
  init() throws {
    let doing = "opening the kernel's management interface"
    // BTPROTO_HCI (include/net/bluetooth/bluetooth.h) is 1.
    let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let number = socket(Int32(BluetoothSocket.family), type, 1)
    guard number >= 0 else { throw BlueZError(errno: errno, while: doing) }
    descriptor = FileDescriptor(owning: number)
    // struct sockaddr_hci (include/net/bluetooth/hci_sock.h): family, HCI_DEV_NONE, HCI_CHANNEL_CONTROL.
    let address: [UInt16] = [BluetoothSocket.family, 0xffff, 3]
    let bound = address.withUnsafeBytes { bytes in
      bind(number, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard bound == 0 else { throw BlueZError(errno: errno, while: doing) }
    loop = try PacketLoop.shared()
    id = loop.add(PacketLoop.Entry(number: number, descriptor: descriptor, receiver: nil))
  }

  deinit {
    loop.remove(id)
    descriptor.close()
  }

  /// Ends the LE scan of an adapter in the kernel, whichever program started it.
  /// - Parameter index: The number N of hciN.
  /// - Throws: ``BlueZError``: `.notPermitted`, `.failed` when there is no such scan, `.timedOut`.
  func stopDiscovery(of index: UInt16) async throws {
    // Stop Discovery, for the address types LE public and LE random (BlueZ, doc/mgmt-api.txt).
    try await command(0x0024, index, [0b110], doing: "ending the scan of hci\(index)")
  }

  private func command(_ opcode: UInt16, _ index: UInt16, _ parameters: [UInt8], doing: String) async throws {
    let packet = ManagementPacket(opcode, index, parameters).bytes
    let failure = descriptor.withNumber { send($0, packet, packet.count, 0) == packet.count ? 0 : errno }
    guard failure == 0 else { throw BlueZError(errno: failure ?? EBADF, while: doing) }
    let status = try await withTimeout(.seconds(2), doing) { [self] in
      while await loop.wait(id, for: .reading) {
        try Task.checkCancellation()
        while let event = try receive(doing) {
          if let status = event.status(of: opcode, index) { return status }
        }
      }
      throw CancellationError()
    }
    switch status {
    case 0: return
    // MGMT_STATUS_PERMISSION_DENIED
    case 0x14: throw BlueZError(.notPermitted, doing, hint: "it needs the capability CAP_NET_ADMIN")
    default: throw BlueZError(.failed, "\(doing): management status 0x\(String(status, radix: 16))")
    }
  }

  /// - Returns: `nil` when no packet is waiting.
  private func receive(_ doing: String) throws -> ManagementPacket? {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let (count, failure) = descriptor.withNumber { (recv($0, &bytes, bytes.count, 0), errno) } ?? (-1, EBADF)
    if count < 0, failure == EAGAIN || failure == EINTR { return nil }
    guard count > 0 else { throw BlueZError(errno: count < 0 ? failure : ENOTCONN, while: doing) }
    return ManagementPacket(Array(bytes[..<count]))
  }
}

/// A `struct mgmt_hdr` with its parameters: code, adapter and length in 16 bits each, the least significant byte first.
struct ManagementPacket: Sendable, Hashable {
  let code: UInt16
  let index: UInt16
  let parameters: [UInt8]

  init(_ code: UInt16, _ index: UInt16, _ parameters: [UInt8]) {
    self.code = code
    self.index = index
    self.parameters = parameters
  }

  /// - Returns: `nil` for a packet that is shorter than its header states.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 6 else { return nil }
    let fields = stride(from: 0, to: 6, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
    guard bytes.count == 6 + Int(fields[2]) else { return nil }
    self.init(fields[0], fields[1], Array(bytes[6...]))
  }

  var bytes: [UInt8] {
    [code, index, UInt16(parameters.count)].flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] } + parameters
  }

  /// Returns the outcome of a command, if this is its Command Complete or Command Status event.
  func status(of opcode: UInt16, _ index: UInt16) -> UInt8? {
    guard [1, 2].contains(code), self.index == index, parameters.count >= 3,
      UInt16(parameters[0]) | UInt16(parameters[1]) << 8 == opcode
    else { return nil }
    return parameters[2]
  }
}
