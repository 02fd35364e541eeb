/// A message or a cover as it is queued and sent: a box for two recipients, of a fixed size.
///
/// Nobody without a recipient's key can tell the two apart.
///
/// ```swift
/// let message = try SealedMessage(bytes: [UInt8](repeating: 7, count: SealedMessage.byteCount))
/// print(message.bytes.count)  // 773
/// ```
public struct SealedMessage: Sendable, Hashable {
  /// The size of every sealed message, 773 bytes: two wrapped keys of 80 bytes, and 597 bytes with a tag of 16.
  public static let byteCount = 773

  /// The bytes of the box, exactly ``byteCount``.
  public let bytes: [UInt8]

  /// Creates a sealed message from its bytes, which are not opened.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for another number of bytes.
  public init(bytes: [UInt8]) throws(MessageSendingError) {
    try checkSize(of: "the sealed message", bytes.count, Self.byteCount)
    self.bytes = bytes
  }

  /// Creates a sealed message from bytes whose number is known to be right.
  init(checked bytes: [UInt8]) { self.bytes = bytes }
}
