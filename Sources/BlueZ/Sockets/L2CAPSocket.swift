import Glibc
import Streams

/// A non-blocking L2CAP socket of the kernel in LE credit-based flow control mode, the mode of a socket bound to an LE
/// address and a PSM. It is closed by ``close()`` or with its last reference.
final class L2CAPSocket: ChannelSocket {
  let descriptor: FileDescriptor
  /// The end of the channel, as far as it is known; the reader and the writers learn of it in turn.
  let ending = Lock(Ending())
  private let loop: PacketLoop
  private let id: Int

  /// A lock for binding a PSM: the kernel gives a connecting socket, too, a PSM of the dynamic range until it connects,
  /// and a listener that wants that PSM at this moment would find it in use.
  private static let binding = Lock(())

  convenience init() throws {
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    // BTPROTO_L2CAP (include/net/bluetooth/bluetooth.h) is 0.
    let number = socket(Int32(BluetoothSocket.family), type, 0)
    guard number >= 0 else { throw BlueZError(errno: errno, while: "creating an L2CAP socket") }
    try self.init(owning: number)
  }

  private init(owning number: Int32) throws {
    descriptor = FileDescriptor(owning: number)
    loop = try PacketLoop.shared()
    id = loop.add(PacketLoop.Entry(number: number, descriptor: descriptor, receiver: nil))
  }

  deinit { close() }

  func close() {
    loop.remove(id)
    descriptor.close()
  }

  func wait(for direction: PacketDirection) async -> Bool { await loop.wait(id, for: direction) }

  func listen(
    at address: L2CAPSocketAddress, _ security: SecurityLevel, mtu: Int, backlog: Int, doing: String
  ) throws {
    try Self.binding.withLock { _ in try bind(address, doing) }
    try configure(security, mtu, doing)
    try call(doing) { Glibc.listen($0, Int32(clamping: backlog)) }
  }

  func startConnecting(
    from own: L2CAPSocketAddress, to peer: L2CAPSocketAddress, _ security: SecurityLevel, mtu: Int, limit: Duration,
    doing: String
  ) throws {
    try Self.binding.withLock { _ in
      try bind(own, doing)
      try configure(security, mtu, doing)
      // The kernel would give up after 40 s and report a refusal.
      let seconds = Int(min(max(limit, .zero), .seconds(86_400)).components.seconds) + 1
      try setOption(SOL_SOCKET, SO_SNDTIMEO, timeval(tv_sec: seconds, tv_usec: 0), doing)
      do {
        try call(doing) { number in
          Self.withSocketAddress(peer) { Glibc.connect(number, $0, $1) }
        }
      } catch let error as BlueZError where error.errno == EINPROGRESS {}
    }
  }

  func finishConnecting(doing: String) async throws {
    repeat {
      try Task.checkCancellation()
      let events = try call(doing) { Self.events(of: $0, POLLIN | POLLOUT) }
      // A peer may close at once; packets that it sent before can still be read.
      if events & POLLIN != 0 { return }
      if events & (POLLERR | POLLHUP) != 0 {
        let error: Int32 = try option(SOL_SOCKET, SO_ERROR, doing)
        throw BlueZError(errno: error == 0 ? ECONNABORTED : error, while: doing)
      }
      if events & POLLOUT != 0 { return }
    } while await wait(for: .writing)
    throw BlueZError(.notConnected, "\(doing): closed on this side")
  }

  func accept(doing: String) throws -> (any ChannelSocket, L2CAPSocketAddress)? {
    var bytes = [UInt8](repeating: 0, count: L2CAPSocketAddress.size)
    do {
      let number = try call(doing) { number in
        bytes.withUnsafeMutableBytes { buffer in
          var size = socklen_t(buffer.count)
          return Glibc.accept(number, buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
        }
      }
      _ = fcntl(number, F_SETFD, FD_CLOEXEC)
      let socket = try L2CAPSocket(owning: number)
      guard let peer = L2CAPSocketAddress(bytes) else {
        throw BlueZError(.notSupported, "\(doing): the peer is not an LE device")
      }
      return (socket, peer)
    } catch let error as BlueZError where error.errno == EAGAIN {
      return nil
    }
  }

  func psm(doing: String) throws -> UInt16 {
    var bytes = [UInt8](repeating: 0, count: L2CAPSocketAddress.size)
    try call(doing) { number in
      bytes.withUnsafeMutableBytes { buffer in
        var size = socklen_t(buffer.count)
        return getsockname(number, buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
      }
    }
    guard let address = L2CAPSocketAddress(bytes) else {
      throw BlueZError(.failed, "\(doing): the kernel returned no PSM")
    }
    return address.psm
  }

  private func bind(_ address: L2CAPSocketAddress, _ doing: String) throws {
    try call(doing) { number in
      Self.withSocketAddress(address) { Glibc.bind(number, $0, $1) }
    }
  }

  private func configure(_ security: SecurityLevel, _ mtu: Int, _ doing: String) throws {
    try setOption(SOL_BLUETOOTH, Self.receiveMTU, UInt16(clamping: mtu), doing)
    try setOption(SOL_BLUETOOTH, Self.security, [security.rawValue, 0], doing)
  }

  private static func withSocketAddress<R>(
    _ address: L2CAPSocketAddress, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
  ) -> R {
    address.bytes.withUnsafeBytes {
      body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
    }
  }
}
