/// The form in which a message travels to a relay: a version and the message, always 774 bytes.
///
/// ```swift
/// let message = try SealedMessage(bytes: [UInt8](repeating: 7, count: SealedMessage.byteCount))
/// print(try RelayPacket.decode(RelayPacket.encode(message)) == message)  // true
/// ```
public enum RelayPacket {
  /// The size of every packet to a relay, 774 bytes.
  public static let byteCount = 1 + SealedMessage.byteCount
  /// The first byte of every packet of this version.
  static let version: UInt8 = 1

  /// Returns the packet for a message.
  public static func encode(_ message: SealedMessage) -> [UInt8] { [version] + message.bytes }

  /// Returns the message in a packet.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for another size or version.
  public static func decode(_ packet: [UInt8]) throws(MessageSendingError) -> SealedMessage {
    try checkSize(of: "the packet", packet.count, byteCount)
    guard packet[0] == version else {
      throw MessageSendingError(.invalidArgument, "the packet is of version \(packet[0]); required: \(version)")
    }
    return try SealedMessage(bytes: Array(packet[1...]))
  }
}

/// The answer of a relay to one packet, always two bytes.
public enum RelayAnswer: UInt8, Sendable, Hashable, CaseIterable {
  /// The message is on the relay's disk.
  case stored = 0
  /// The relay does not store the message now: its queue is full, its disk has failed, or the sender sends too fast.
  case refused = 1
  /// The packet is no message.
  case malformed = 2

  /// The answer as a packet.
  public var bytes: [UInt8] { [RelayPacket.version, rawValue] }

  /// Reads a packet with an answer.
  /// - Returns: `nil` for anything else.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 2, bytes[0] == RelayPacket.version else { return nil }
    self.init(rawValue: bytes[1])
  }
}

/// A channel of packets between a sender and a relay, such as an L2CAP channel.
public protocol RelayChannel: Sendable {
  /// Sends one packet as a whole, or fails.
  /// - Throws: An error when the channel has ended; `CancellationError`.
  func send(_ packet: [UInt8]) async throws

  /// Returns the next packet; `nil` when the peer has closed the channel.
  /// - Throws: An error when the connection was lost; `CancellationError`.
  func receive() async throws -> [UInt8]?

  /// Closes the channel, after what was sent has left this host, where that is possible.
  func close() async
}
