internal import Glibc
internal import NIOCore

/// Drops payload that has arrived at a socket of TCP, without copying it.
///
/// The payload of a speed test says nothing. Linux drops what is received with `MSG_TRUNC` (tcp(7), since 2.4) and moves
/// the window as if it had been read, so that a fast line does not wait for a processor that copies.
struct PayloadDrain {
  /// The smallest number of bytes for which a call of its own is worth while.
  private static let least = 32 << 10
  /// The bytes to drop before other connections of the same event loop have their turn, and in one call.
  private static let turnLimit = 4 << 20

  private var isPossible: Bool

  /// Creates a drain.
  /// - Parameter isSecured: `true` for a connection with TLS, whose payload is known only after decryption.
  init(isSecured: Bool) { isPossible = !isSecured }

  /// Drops what has arrived, up to the next byte that must be looked at.
  /// - Parameters:
  ///   - skippable: Returns the number of bytes that may be dropped.
  ///   - dropped: Accepts the number of bytes that were dropped.
  /// - Throws: `IOError` when the connection has failed.
  mutating func run(_ context: ChannelHandlerContext, skippable: () -> Int, dropped: (Int) -> Void) throws {
    var left = Self.turnLimit
    while isPossible, left > 0 {
      let wanted = min(skippable(), left)
      guard wanted >= Self.least, let count = try drop(wanted, context) else { return }
      left -= count
      dropped(count)
    }
  }

  /// Returns the number of bytes that were dropped; `nil` when nothing has arrived.
  private mutating func drop(_ count: Int, _ context: ChannelHandlerContext) throws -> Int? {
    let answer = try context.channel.pipeline.syncOperations.withUnsafeTransportIfAvailable {
      (socket: NIOBSDSocket.Handle) in
      let count = recv(socket, nil, count, Int32(MSG_TRUNC | MSG_DONTWAIT))
      return (count: count, failure: count < 0 ? errno : 0)
    }
    switch answer {
    case (let count, 0)? where count > 0: return count
    // The end of the stream is for who reads.
    case (_, 0)?, (_, EAGAIN)?, (_, EINTR)?: return nil
    // Not every socket is one of Linux's TCP; the payload is read, then.
    case nil, (_, EFAULT)?, (_, EINVAL)?, (_, EOPNOTSUPP)?:
      isPossible = false
      return nil
    case (_, let failure)?: throw IOError(errnoCode: failure, reason: "recv")
    }
  }
}
