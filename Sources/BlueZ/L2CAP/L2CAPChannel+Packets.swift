import Glibc
import Streams
import Timing

extension L2CAPChannel {
  /// The packets that the peer sends. Nothing is read ahead: packets that are not read stay in the kernel, whose
  /// credits then run out, so that the peer waits. Several consumers share the packets.
  public var packets: Packets { Packets(channel: self) }

  /// The sequence of packets that a channel receives.
  ///
  /// The sequence finishes when either side closed the channel in order. It throws ``BlueZError`` with code
  /// `.notConnected` when the connection was lost, and `CancellationError`; in both cases after all packets that had
  /// arrived.
  public struct Packets: AsyncSequence, Sendable {
    let channel: L2CAPChannel

    /// Returns an iterator over the packets.
    public func makeAsyncIterator() -> Iterator { Iterator(channel: channel) }

    /// An iterator over the packets of a channel.
    public struct Iterator: AsyncIteratorProtocol {
      let channel: L2CAPChannel

      /// Returns the next packet; `nil` when the channel was closed.
      /// - Throws: ``BlueZError`` with code `.notConnected` when the connection was lost; `CancellationError`.
      public mutating func next() async throws -> [UInt8]? { try await channel.receive() }
    }
  }

  private func receive() async throws -> [UInt8]? {
    repeat {
      try Task.checkCancellation()
      switch socket.receiveNow(longest: receiveMTU) {
      case .packet(let packet): return packet
      case .ended(nil): return nil
      case .ended(let error?): throw broken(error)
      case .nothing: break
      }
    } while await socket.wait(for: .reading)
    return nil
  }

  /// Sends one packet; waits while the peer grants no credits.
  ///
  /// When this method returns, the kernel has the packet and sends it before all later ones. When it throws, nothing of
  /// the packet was sent.
  /// - Parameters:
  ///   - packet: The packet, 1 to ``sendMTU`` bytes. The kernel cannot send an empty SDU.
  ///   - timeout: The longest time to wait for credits.
  /// - Throws: ``BlueZError``: `.invalidArgument` for a packet of another size, or one too long for the kernel's send
  ///   buffer; `.timedOut`; `.notConnected` when the channel has ended. `CancellationError`.
  public func send(_ packet: [UInt8], timeout: Duration = .seconds(60)) async throws {
    guard (1...sendMTU).contains(packet.count) else {
      throw BlueZError(.invalidArgument, "the packet for \(name) has \(packet.count) bytes; allowed: 1 to \(sendMTU)")
    }
    try Task.checkCancellation()
    // Usually there is free space, and a timeout would cost more than sending.
    if try await sent(packet) { return }
    let isSent = Lock(false)
    do {
      try await withTimeout(timeout, "sending to \(name)", hint: "the peer may not be reading") {
        repeat {
          guard await self.socket.wait(for: .writing) else { throw self.broken(EBADF) }
          try Task.checkCancellation()
        } while try await !self.sent(packet)
        isSent.withLock { $0 = true }
      }
    } catch {
      // The packet may have been sent at the very moment of the timeout; sent again, it would arrive twice.
      guard isSent.withLock({ $0 }) else { throw error }
    }
  }

  /// - Returns: `false` when the send buffer is full.
  private func sent(_ packet: [UInt8]) async throws -> Bool {
    switch socket.sendNow(packet) {
    case .all: return true
    case .full: return false
    case .crowded:
      // The kernel does not signal more free space; at a few hundred kB/s a millisecond is a PDU or two.
      try await Task.sleep(for: .milliseconds(2), clock: .steady)
      return false
    case .tooLong:
      throw BlueZError(
        .invalidArgument, "the kernel's send buffer does not hold \(packet.count) bytes for \(name)",
        hint: "send shorter packets, or raise net.core.wmem_max")
    case .failed(let error): throw broken(error)
    }
  }

  /// Waits until the kernel has passed everything that was sent to the controller; call it before a ``close()`` that
  /// must not drop packets.
  /// - Throws: ``BlueZError``: `.timedOut` when the peer does not take the packets, `.notConnected` when the channel
  ///   has ended; `CancellationError`.
  public func flush(timeout: Duration = .seconds(30)) async throws {
    let socket = socket
    let doing = "flushing \(name)"
    try await withTimeout(timeout, doing, hint: "the peer may not be reading") {
      // The kernel does not signal that a send buffer is empty.
      while try socket.unsent(doing) > 0 { try await Task.sleep(for: .milliseconds(2), clock: .steady) }
    }
  }

  /// Closes the channel when the peer has taken what was sent, or after 2 s: a peer that reads nothing any more delays
  /// the end no longer.
  package func flushAndClose() async {
    do {
      try await flush(timeout: .seconds(2))
    } catch {
      // The peer reads nothing any more or is disconnected; the channel closes in any case.
    }
    close()
  }

  /// Returns the next packet; `nil` when the peer has closed the channel.
  /// - Throws: ``BlueZError``, as the iterator of ``packets``; `CancellationError`.
  package func nextPacket() async throws -> [UInt8]? {
    var packets = packets.makeAsyncIterator()
    return try await packets.next()
  }

  private func broken(_ number: Int32) -> BlueZError {
    let reason =
      switch number {
      case EBADF: "closed on this side"
      case ETIMEDOUT: "the peer is out of range, or silent"
      case ECONNABORTED: "this host ended the connection"
      default: "the peer closed the channel or the connection"
      }
    return BlueZError(.notConnected, "\(name) has ended: \(reason)", errno: number)
  }
}
