/// A socket for an L2CAP channel, or for the channels that peers open: the kernel's, or that of a fake bluetoothd.
///
/// The errors are those of the kernel: ``BlueZError`` with an error number, whose message begins with `doing`.
package protocol ChannelSocket: AnyObject, Sendable {
  /// Binds the socket to a PSM and listens.
  func listen(at address: L2CAPSocketAddress, _ security: SecurityLevel, mtu: Int, backlog: Int, doing: String) throws

  /// Returns the PSM of a listening socket.
  func psm(doing: String) throws -> UInt16

  /// Accepts the next channel that a peer has opened.
  /// - Returns: `nil` when there is none now.
  func accept(doing: String) throws -> (any ChannelSocket, L2CAPSocketAddress)?

  /// Starts to connect.
  /// - Parameter limit: The caller's timeout; the socket does not give up earlier.
  func startConnecting(
    from own: L2CAPSocketAddress, to peer: L2CAPSocketAddress, _ security: SecurityLevel, mtu: Int, limit: Duration,
    doing: String
  ) throws

  /// Waits until the channel is open.
  func finishConnecting(doing: String) async throws

  /// Returns the longest packets of the channel, in bytes. That to the peer is `nil` when the peer has closed the
  /// channel.
  func mtus(_ doing: String) throws -> (receive: UInt16, send: UInt16?)

  /// Returns the security of the connection; of a channel that failed, the security that was required. It is raised
  /// when the peer refuses because it requires more.
  func securityLevel(_ doing: String) throws -> UInt8

  /// Returns the PHYs that are in use and known, as a set of `BT_PHY_…`.
  func phys(_ doing: String) throws -> UInt32

  /// Reads one SDU.
  /// - Parameter longest: The MTU in this direction.
  func receiveNow(longest: Int) -> ReceivedPacket

  /// Sends one SDU completely, or not at all.
  func sendNow(_ sdu: [UInt8]) -> SentPacket

  /// Returns the number of bytes, including the kernel's overhead, that are not with the controller yet.
  /// - Throws: ``BlueZError`` when the channel has ended.
  func unsent(_ doing: String) throws -> UInt32

  /// Waits until the socket is readable or writable, has failed, or was closed by the peer. Returns early when the task
  /// is cancelled, and sometimes without a cause, so the caller checks again.
  /// - Returns: `false` when the socket was closed on this side.
  func wait(for direction: PacketDirection) async -> Bool

  func close()
}

/// The operation that a task waits for.
package enum PacketDirection: Sendable {
  case reading, writing
}

/// The result of reading an SDU.
package enum ReceivedPacket: Sendable {
  case packet([UInt8])
  case nothing
  /// Everything is read. With an error number the connection was lost; without, the channel was closed in order.
  case ended(Int32?)
}

/// The result of sending an SDU.
package enum SentPacket: Sendable {
  case all
  /// There are no credits or no buffer; the kernel signals free space.
  case full
  /// The SDU needs more than half of the send buffer, which is not empty; the kernel signals only that half is free.
  case crowded
  /// The SDU does not fit into the send buffer even when that is empty.
  case tooLong
  case failed(Int32)
}
