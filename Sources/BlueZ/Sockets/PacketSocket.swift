import Glibc
package import Streams

/// One end of a `SOCK_SEQPACKET` pair shared with bluetoothd: every packet is one attribute value.
///
/// Reading is done by one thread for all sockets of the process, which never runs user code: bluetoothd drops what the
/// socket has no room for, without a word, so it must be emptied whatever the program is busy with.
package final class PacketSocket: Sendable {
  let descriptor: FileDescriptor
  private let loop: PacketLoop
  private let id: Int

  /// Takes over a socket.
  /// - Parameters:
  ///   - onPacket: gets every packet, in order, on the reading thread.
  ///   - onBurst: called there after each burst of packets, to wake who reads them.
  ///   - onClose: called once, when the other end is gone; not after ``close()``.
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

  /// Closes this end; bluetoothd sees it at once.
  package func close() {
    // The thread that polls it would keep it open for a moment, and what is sent to it then would be lost.
    _ = descriptor.withNumber { shutdown($0, Int32(SHUT_RDWR)) }
    loop.remove(id)
    descriptor.close()
  }

  /// Makes a connected pair of sockets.
  package static func pair() throws -> (FileDescriptor, FileDescriptor) {
    var ends: [Int32] = [0, 0]
    let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw BlueZError(.failed, "no socket pair: \(String(cString: strerror(errno)))")
    }
    return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  }

  /// Sends one value, and waits while bluetoothd has not emptied the socket.
  ///
  /// That it is taken says nothing of the radio: bluetoothd queues without bound.
  /// - Parameter timeout: how long to wait for room.
  /// - Throws: ``BlueZError`` with code `.notConnected` when the other end is gone, `.timedOut`; `CancellationError`.
  func send(_ value: [UInt8], timeout: Duration) async throws {
    try Task.checkCancellation()
    // Mostly there is room, and watching the clock would cost more than sending.
    if try sendNow(value) { return }
    try await withTimeout(timeout, "room in the socket to bluetoothd") {
      repeat {
        guard await self.loop.wait(self.id, for: .writing) else {
          throw BlueZError(.notConnected, "the link behind the socket has ended")
        }
        try Task.checkCancellation()
      } while try !self.sendNow(value)
    }
  }

  /// Sends one value if there is room.
  /// - Returns: `false` when there is none.
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
    case nil, EPIPE, ECONNRESET, ENOTCONN: throw BlueZError(.notConnected, "the link behind the socket has ended")
    case let code?: throw BlueZError(.failed, "sending failed: \(String(cString: strerror(code)))")
    }
  }
}
