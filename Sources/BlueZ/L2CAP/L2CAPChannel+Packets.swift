import Glibc
import Streams
import Timing

extension L2CAPChannel {
  /// What the peer sends, packet by packet. Nothing is read ahead: what nobody takes stays with the kernel, whose
  /// credits then run out, and the peer waits. Several readers share the packets among them.
  public var packets: Packets { Packets(channel: self) }

  /// The packets of a channel.
  ///
  /// The sequence ends when the channel was closed in order, by either side. It throws ``BlueZError`` with code
  /// `.notConnected` when the link broke, and `CancellationError`. Either way after everything that had arrived.
  public struct Packets: AsyncSequence, Sendable {
    let channel: L2CAPChannel

    /// The iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(channel: channel) }

    /// Reads packets from a channel.
    public struct Iterator: AsyncIteratorProtocol {
      let channel: L2CAPChannel

      /// The next packet; `nil` when the channel was closed.
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

  /// Sends one packet; waits while the peer gives no credits.
  ///
  /// When it returns the kernel has the packet, and sends it before all later ones. When it throws, nothing of the
  /// packet was sent.
  /// - Parameters:
  ///   - packet: 1 to ``sendMTU`` bytes. The kernel cannot send an empty SDU.
  ///   - timeout: how long the peer may make us wait.
  /// - Throws: ``BlueZError``: `.invalidArgument` for a packet of another size, or one too long for the kernel's send
  ///   buffer; `.timedOut`; `.notConnected` when the channel has ended. `CancellationError`.
  public func send(_ packet: [UInt8], timeout: Duration = .seconds(60)) async throws {
    guard (1...sendMTU).contains(packet.count) else {
      throw BlueZError(.invalidArgument, "a packet of \(packet.count) bytes to \(name)", hint: "1 to \(sendMTU) bytes")
    }
    try Task.checkCancellation()
    // Mostly there is room, and watching the clock would cost more than sending.
    if try await sent(packet) { return }
    let isSent = Lock(false)
    do {
      try await withTimeout(timeout, "sending to \(name)", hint: "does the peer read?") {
        repeat {
          guard await self.socket.wait(for: .writing) else { throw self.broken(EBADF) }
          try Task.checkCancellation()
        } while try await !self.sent(packet)
        isSent.withLock { $0 = true }
      }
    } catch {
      // It may have been sent in the moment in which the time ran out; sent again, it would arrive twice.
      guard isSent.withLock({ $0 }) else { throw error }
    }
  }

  /// - Returns: `false` when there is no room.
  private func sent(_ packet: [UInt8]) async throws -> Bool {
    switch socket.sendNow(packet) {
    case .all: return true
    case .full: return false
    case .crowded:
      // Nobody tells when there is more room; at a few hundred kB/s a millisecond is a PDU or two.
      try await Task.sleep(for: .milliseconds(2), clock: .steady)
      return false
    case .tooLong:
      throw BlueZError(
        .invalidArgument, "the kernel's send buffer does not hold \(packet.count) bytes for \(name)",
        hint: "send shorter packets, or raise net.core.wmem_max")
    case .failed(let error): throw broken(error)
    }
  }

  /// Waits until everything sent has left the kernel for the radio; before a ``close()`` that must not drop any of it.
  /// - Throws: ``BlueZError``: `.timedOut` when the peer does not take it, `.notConnected` when the channel has ended;
  ///   `CancellationError`.
  public func flush(timeout: Duration = .seconds(30)) async throws {
    let socket = socket
    let doing = "flushing \(name)"
    try await withTimeout(timeout, doing, hint: "does the peer read?") {
      // The kernel tells nobody that a send buffer is empty.
      while try socket.unsent(doing) > 0 { try await Task.sleep(for: .milliseconds(2), clock: .steady) }
    }
  }

  private func broken(_ number: Int32) -> BlueZError {
    let reason =
      switch number {
      case EBADF: "closed on this side"
      case ETIMEDOUT: "the peer is out of range, or silent"
      case ECONNABORTED: "this side ended the link"
      default: "the peer closed it or ended the link"
      }
    return BlueZError(.notConnected, "\(name) has ended: \(reason)", errno: number)
  }
}
