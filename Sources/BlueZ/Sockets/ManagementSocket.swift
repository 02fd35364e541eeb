import Glibc
package import Streams

/// The kernel's Bluetooth management interface, by which bluetoothd itself controls the adapters; for operations that
/// bluetoothd does not provide. Most of them need the capability CAP_NET_ADMIN.
package final class ManagementSocket: Sendable {
  /// Opens a socket; tests replace the kernel by it.
  package typealias Opener = @Sendable () throws -> ManagementSocket

  private static let timeout = Duration.seconds(5)

  private let descriptor: FileDescriptor
  private let loop: PacketLoop
  private let id: Int

  /// - Throws: ``BlueZError``, `.notSupported` where the kernel has no Bluetooth.
  package convenience init() throws {
    let doing = "opening the kernel's management interface"
    // BTPROTO_HCI (include/net/bluetooth/bluetooth.h) is 1.
    let number = socket(Int32(BluetoothSocket.family), Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 1)
    guard number >= 0 else { throw BlueZError(errno: errno, while: doing) }
    let descriptor = FileDescriptor(owning: number)
    // struct sockaddr_hci (include/net/bluetooth/hci_sock.h): family, HCI_DEV_NONE, HCI_CHANNEL_CONTROL.
    let address: [UInt16] = [BluetoothSocket.family, 0xffff, 3]
    let bound = address.withUnsafeBytes { bytes in
      bind(number, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard bound == 0 else { throw BlueZError(errno: errno, while: doing) }
    try self.init(owning: descriptor)
  }

  /// Creates a socket that owns a descriptor, on whose other end is the kernel or an imitation of it.
  package init(owning descriptor: FileDescriptor) throws {
    let number = descriptor.withNumber { number in
      _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
      return number
    }
    guard let number else { throw BlueZError(.notConnected, "the management socket is closed") }
    self.descriptor = descriptor
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
    // For the address types LE public and LE random.
    _ = try await request(.stopDiscovery, at: index, [0b110], doing: "ending the scan of hci\(index)")
  }

  /// Sends a command and waits for its outcome. Only one command may be under way.
  /// - Returns: The parameters of the reply.
  /// - Throws: ``BlueZError`` by the status of the reply; `.timedOut`; or `CancellationError`.
  func request(
    _ command: ManagementCommand, at index: UInt16, _ parameters: [UInt8] = [], doing: String
  ) async throws -> [UInt8] {
    let packet = ManagementPacket(command.rawValue, index, parameters).bytes
    let failure = descriptor.withNumber { send($0, packet, packet.count, Int32(MSG_NOSIGNAL)) < 0 ? errno : 0 }
    guard failure == 0 else { throw BlueZError(errno: failure ?? EBADF, while: doing) }
    let reply = try await withTimeout(Self.timeout, doing) { [self] in
      while true {
        if let reply = try await next(doing).reply(to: command.rawValue, index) { return reply }
      }
    }
    if let error = BlueZError(managementStatus: reply.status, while: doing) { throw error }
    return reply.parameters
  }

  /// Returns the next packet of the kernel: a reply, or an event that it sends to all such sockets.
  /// - Throws: ``BlueZError``: `.notConnected` when the other end is closed; or `CancellationError`.
  func next(_ doing: String) async throws -> ManagementPacket {
    while true {
      try Task.checkCancellation()
      switch try receive(doing) {
      case .packet(let packet): return packet
      case .malformed: continue
      case .empty:
        guard await loop.wait(id, for: .reading) else { throw CancellationError() }
      }
    }
  }

  private enum Received {
    case packet(ManagementPacket), malformed, empty
  }

  private func receive(_ doing: String) throws -> Received {
    // Longer than every packet of the kernel.
    var bytes = [UInt8](repeating: 0, count: 4096)
    let (count, failure) = descriptor.withNumber { (recv($0, &bytes, bytes.count, 0), errno) } ?? (-1, EBADF)
    if count < 0, failure == EAGAIN || failure == EINTR { return .empty }
    guard count > 0 else { throw BlueZError(errno: count < 0 ? failure : ENOTCONN, while: doing) }
    return ManagementPacket(Array(bytes[..<count])).map(Received.packet) ?? .malformed
  }
}
