/// The recipient's end: sorts covers from messages with a node's key, and reads messages with a recipient's key.
///
/// ```swift
/// func texts(of messages: [SealedMessage], for opener: MessageOpener) throws -> [String] {
///   try messages.compactMap { message in
///     guard case .message(let received) = try opener.open(message) else { return nil }
///     return received.text
///   }
/// }
/// ```
public struct MessageOpener: Sendable {
  /// The sort of a sealed message, and what it says where a key for it is there.
  public enum Opened: Sendable, Hashable {
    /// A cover, which says nothing.
    case cover
    /// A message for one of the opener's recipients.
    case message(Received)
    /// A message for another recipient, with the tag of that recipient: four bytes.
    case otherRecipient(tag: [UInt8])
  }

  /// A message that was opened.
  public struct Received: Sendable, Hashable {
    /// The identifier of the recipient.
    public let recipient: String
    /// The public key of the user who wrote it.
    public let user: BoxPublicKey
    /// The text of the message.
    public let text: String
  }

  private let node: BoxSecretKey
  private let recipients: [[UInt8]: (id: String, key: BoxSecretKey)]

  /// Creates an opener for the keys that it is given.
  /// - Parameters:
  ///   - node: The key of either of the two nodes.
  ///   - recipients: The keys of recipients by their identifiers; without any, messages are sorted and not read.
  public init(node: BoxSecretKey, recipients: [String: BoxSecretKey]) {
    self.node = node
    self.recipients = Dictionary(
      recipients.map { (MessageContents.tag(of: $0.key), (id: $0.key, key: $0.value)) },
      uniquingKeysWith: { one, _ in one })
  }

  /// Opens a sealed message, and reads it where a key for it is there.
  /// - Throws: ``MessageSendingError`` with code `.cannotOpen` for what was sealed to other nodes, changed, or made by a
  ///   program that breaks the format.
  public func open(_ message: SealedMessage) throws(MessageSendingError) -> Opened {
    let contents = try MessageContents(message, with: node)
    if contents.tag == MessageContents.coverTag { return .cover }
    guard let (id, key) = recipients[contents.tag] else { return .otherRecipient(tag: contents.tag) }
    let (user, text) = try contents.letter(with: key)
    return .message(Received(recipient: id, user: user, text: text))
  }
}
