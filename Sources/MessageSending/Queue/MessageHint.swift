/// A code that says whether a message is still in the queue, and that nobody can match to it without the queue's secret.
public struct MessageHint: Sendable, Hashable {
  /// The size of a hint, 16 bytes.
  public static let byteCount = 16

  /// The bytes of the hint, exactly ``byteCount``.
  public let bytes: [UInt8]

  /// Creates a hint from its bytes.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for another number of bytes.
  public init(bytes: [UInt8]) throws(MessageSendingError) {
    guard bytes.count == Self.byteCount else {
      throw MessageSendingError(.invalidArgument, "the hint has \(bytes.count) bytes; required: \(Self.byteCount)")
    }
    self.bytes = bytes
  }

  /// Creates the hint of a message: the first 16 bytes of the HMAC-SHA-256 of its bytes under the secret.
  init(of message: SealedMessage, secret: SecretBytes) {
    bytes = Array(Sodium.hmac(secret, message.bytes).prefix(Self.byteCount))
  }

  /// Creates a hint that matches no message.
  static func random() throws(MessageSendingError) -> MessageHint {
    try MessageHint(bytes: Sodium.random(byteCount))
  }
}
