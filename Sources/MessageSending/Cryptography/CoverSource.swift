/// A source of covers: sealed messages without a text, which replace in the queue what was sent.
///
/// A cover has to be encrypted exactly as a message is, or an observer can tell the two apart.
public protocol CoverSource: Sendable {
  /// Returns a new cover, another one for each call.
  /// - Throws: ``MessageSendingError`` when no cover can be made; the caller then sends nothing at all.
  func cover() throws(MessageSendingError) -> SealedMessage
}
