internal import DurableFiles

/// A code that says whether a message is still in the queue, and that nobody can match to it without the queue's secret.
public struct MessageHint: Sendable, Hashable {
  /// The size of a hint, 16 bytes.
  public static let byteCount = 16

  /// The bytes of the hint, exactly ``byteCount``.
  public let bytes: [UInt8]

  /// Creates a hint from its bytes.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for another number of bytes.
  public init(bytes: [UInt8]) throws(MessageSendingError) {
    try checkSize(of: "the hint", bytes.count, Self.byteCount)
    self.bytes = bytes
  }

  /// Creates the hint of a message: the first 16 bytes of the HMAC-SHA-256 of its bytes under the secret.
  init(of message: SealedMessage, secret: SecretBytes) {
    bytes = Array(Sodium.hmac(secret, message.bytes).prefix(Self.byteCount))
  }

  private static let damage = Array("damaged:".utf8)

  /// Creates the mark that stands in a vault behind the hints of messages that a damaged file of the queue may have lost.
  /// - Parameter file: The identity of the damaged file.
  init(damage file: WholeFile.Stamp) {
    bytes = Self.damage + Sodium.sha256(Array("\(file)".utf8)).prefix(Self.byteCount - Self.damage.count)
  }

  /// A Boolean value that indicates whether this is a mark of damage and no hint.
  var marksDamage: Bool { bytes.starts(with: Self.damage) }

  /// Creates a hint that matches no message.
  static func random() throws(MessageSendingError) -> MessageHint {
    try MessageHint(bytes: Sodium.random(byteCount))
  }
}
