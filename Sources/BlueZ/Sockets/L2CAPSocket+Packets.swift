import Glibc

extension L2CAPSocket {
  /// The end of a channel. The kernel reports it once, to the first caller, and before it delivers packets that had
  /// arrived.
  struct Ending: Sendable {
    var hasEnded = false
    var failure: Int32?
    /// The buffer for one SDU; allocated when the first one is read.
    var buffer: [UInt8] = []
  }

  func receiveNow(longest: Int) -> ReceivedPacket {
    descriptor.withNumber { number in
      ending.withLock { ending in
        if ending.buffer.isEmpty { ending.buffer = [UInt8](repeating: 0, count: longest) }
        return ending.receive(number)
      }
    } ?? .ended(nil)
  }

  func sendNow(_ sdu: [UInt8]) -> SentPacket {
    let sent = descriptor.withNumber { number -> SentPacket in
      // No other task sends meanwhile: a writable socket stays writable, and an empty one empty.
      var wasWritable = false
      var wasEmpty = false
      while true {
        if send(number, sdu, sdu.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)) >= 0 { return .all }
        switch errno {
        case EINTR: continue
        case EAGAIN: break
        case let error:
          ending.withLock { ending in
            ending.failure = ending.failure ?? error
            ending.hasEnded = ending.hasEnded || Self.events(of: number) & POLLHUP != 0
          }
          return .failed(error)
        }
        if wasWritable && !Self.enlargeSendBuffer(of: number) { return wasEmpty ? .tooLong : .crowded }
        guard Self.events(of: number, POLLOUT) & POLLOUT != 0 else { return .full }
        wasWritable = true
        wasEmpty = Self.memory(of: number).unsent == 0
      }
    }
    return sent ?? .failed(EBADF)
  }

  /// Doubles the send buffer, within `net.core.wmem_max` for programs without CAP_NET_ADMIN.
  private static func enlargeSendBuffer(of number: Int32) -> Bool {
    var before: Int32 = 0
    var after: Int32 = 0
    _ = option(number, SOL_SOCKET, SO_SNDBUF, &before)
    for option in [SO_SNDBUFFORCE, SO_SNDBUF] {
      // The kernel doubles the given size, for its own bookkeeping.
      if setsockopt(number, SOL_SOCKET, option, &before, socklen_t(MemoryLayout<Int32>.size)) == 0 { break }
    }
    _ = option(number, SOL_SOCKET, SO_SNDBUF, &after)
    return after > before
  }
}

extension L2CAPSocket.Ending {
  fileprivate mutating func receive(_ number: Int32) -> ReceivedPacket {
    // On a channel that the peer has closed, `recv` returns 0 once in place of the error, and 0 when all is read.
    var isErrorReported = false
    while true {
      let waiting = hasEnded ? L2CAPSocket.memory(of: number).received : 0
      let count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count > 0 { return .packet(Array(buffer[..<count])) }
      if count == 0 && hasEnded {
        // Nothing arrives any more, so that an empty SDU shows as memory that became free.
        if L2CAPSocket.memory(of: number).received < waiting { return .packet([]) }
        if waiting == 0 || isErrorReported { return .ended(nil) }
        isErrorReported = true
        continue
      }
      if count == 0 {
        // While an error is still pending, this was not the end.
        let events = L2CAPSocket.events(of: number)
        if events & POLLHUP == 0 || events & POLLERR != 0 { return .packet([]) }
        hasEnded = true
        continue
      }
      let error = errno
      if error == EINTR { continue }
      if hasEnded { return .ended(failure ?? ECONNRESET) }
      if error == EAGAIN && L2CAPSocket.events(of: number) & POLLHUP == 0 { return .nothing }
      if error != EAGAIN { failure = failure ?? error }
      hasEnded = true
    }
  }
}
