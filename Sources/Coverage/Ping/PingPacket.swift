/// The datagrams of the pings: a request of 24 bytes, and replies of 8.
package enum PingPacket {
  /// The size of a request in bytes.
  package static let requestSize = 24
  /// The smallest size of a reply in bytes; what follows is ignored.
  package static let replySize = 8

  /// Returns the request with a sequence number.
  /// - Parameter token: The token, 16 bytes.
  package static func request(_ sequence: UInt32, token: [UInt8]) -> [UInt8] {
    Array("RP01".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: sequence >> (24 - 8 * $0)) } + token
  }

  /// The reply of a server, with the sequence number of the request.
  package enum Reply: Sendable, Hashable {
    /// The server accepts the token.
    case good(UInt32)
    /// The token is for another address than the request came from.
    case refused(UInt32)

    /// Reads a datagram; returns `nil` for what is no reply.
    package init?(_ bytes: some Collection<UInt8>) {
      guard bytes.count >= PingPacket.replySize else { return nil }
      let head = Array(bytes.prefix(PingPacket.replySize))
      let sequence = head[4..<8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      switch head[..<4] {
      case ArraySlice("RR01".utf8): self = .good(sequence)
      case ArraySlice("RE01".utf8): self = .refused(sequence)
      default: return nil
      }
    }
  }
}
