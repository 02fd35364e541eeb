import Glibc
package import Streams

/// One end of a `SOCK_SEQPACKET` pair shared with bluetoothd: every packet is one attribute value.
///
/// One thread reads all sockets of the process and never runs user code: bluetoothd silently drops packets that do not
/// fit into the socket, so it must be emptied however busy the program is.
package final class PacketSocket: Sendable {
  let descriptor: FileDescriptor
  private let loop: PacketLoop
  private let id: Int

  /// Creates a socket that owns a descriptor.
  /// - Parameters:
  ///   - onPacket: Receives every packet in order, on the reading thread.
  ///   - onBurst: Called there after each burst of packets, to wake their reader.
  ///   - onClose: Called once when the other end is closed; not after ``close()``.
  package init(
    owning descriptor: FileDescriptor, onPacket: @escaping @Sendable ([UInt8]) -> Void,
    onBurst: @escaping @Sendable () -> Void = {}, onClose: @escaping @Sendable () -> Void
  ) throws {
    self.descriptor = descriptor
    loop = try PacketLoop.shared()
    let number = descriptor.withNumber { number in
      _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
      return number
    }
    guard let number else { throw BlueZError(.staleHandle, "the socket is closed") }
    let receiver = PacketLoop.Receiver(onPacket: onPacket, onBurst: onBurst, onClose: onClose)
    id = loop.add(PacketLoop.Entry(number: number, descriptor: descriptor, receiver: receiver))
  }

  deinit {
    close()
  }

  /// Closes this end; bluetoothd notices at once.
  package func close() {
    // The polling thread would keep the socket open for a moment, and packets sent to it then would be lost.
    _ = descriptor.withNumber { shutdown($0, Int32(SHUT_RDWR)) }
    loop.remove(id)
    descriptor.close()
  }

  /// Creates a connected pair of sockets.
  package static func pair() throws -> (FileDescriptor, FileDescriptor) {
    var ends: [Int32] = [0, 0]
    let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw BlueZError(.failed, "creating a socket pair failed: \(String(cString: strerror(errno)))")
    }
    return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  }

  /// Sends one value, and waits while the socket to bluetoothd is full.
  ///
  /// Acceptance does not mean that the value was sent over the air: bluetoothd queues without limit.
  /// - Parameter timeout: The longest time to wait for free space.
  /// - Throws: ``BlueZError`` with code `.notConnected` when the other end is closed, `.timedOut`; `CancellationError`.
  func send(_ value: [UInt8], timeout: Duration) async throws {
    try Task.checkCancellation()
    // Usually there is free space, and a timeout would cost more than sending.
    if try sendNow(value) { return }
    try await withTimeout(timeout, "waiting for space in the socket to bluetoothd") {
      repeat {
        guard await self.loop.wait(self.id, for: .writing) else {
          throw BlueZError(.notConnected, "the connection behind the socket has ended")
        }
        try Task.checkCancellation()
      } while try !self.sendNow(value)
    }
  }

  /// Sends one value if the socket has free space.
  /// - Returns: `false` when the socket is full.
  package func sendNow(_ value: [UInt8]) throws -> Bool {
    let error: Int32? = descriptor.withNumber { number in
      while true {
        if Glibc.send(number, value, value.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)) >= 0 {
          return 0
        }
        if errno != EINTR { return errno }
      }
    }
    switch error {
    case 0: return true
    case EAGAIN: return false
    case nil, EPIPE, ECONNRESET, ENOTCONN: throw BlueZError(.notConnected, "the connection behind the socket has ended")
    case let code?: throw BlueZError(.failed, "sending failed: \(String(cString: strerror(code)))")
    }
  }
}
