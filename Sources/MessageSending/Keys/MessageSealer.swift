/// A maker of messages and covers for a set of keys.
public struct MessageSealer: Sendable {
  private let keys: RecipientKeys

  /// Creates a sealer for keys, whose validity the caller has checked.
  public init(keys: RecipientKeys) { self.keys = keys }

  /// Returns a new cover, which only the nodes can tell from a message.
  /// - Throws: ``MessageSendingError`` with code `.cryptography` when memory runs out.
  public func cover() throws(MessageSendingError) -> SealedMessage {
    try MessageContents().sealed(to: keys.nodes[0], keys.nodes[1])
  }

  /// Returns a text as a sealed message.
  /// - Parameters:
  ///   - text: The text; ``PaddedText/usedByteCount(_:)`` says whether it fits.
  ///   - recipient: The identifier of a recipient among the keys.
  ///   - user: The public key of the user, for an answer.
  /// - Throws: ``MessageSendingError`` with code `.textDoesNotFit`, or `.invalidArgument` for an unknown recipient.
  public func message(
    _ text: String, to recipient: String, from user: BoxPublicKey
  ) throws(MessageSendingError) -> SealedMessage {
    guard let found = keys.recipients.first(where: { $0.id == recipient }) else {
      throw MessageSendingError(
        .invalidArgument, "there is no recipient \(recipient)",
        hint: "recipients are: \(keys.recipients.map(\.id).joined(separator: ", "))")
    }
    return try MessageContents(text, tag: MessageContents.tag(of: found.id), to: found.key, from: user)
      .sealed(to: keys.nodes[0], keys.nodes[1])
  }
}

/// A source of covers that ends when its keys expire.
public struct KeyedCovers: CoverSource {
  /// The keys that covers are sealed to.
  public let keys: RecipientKeys
  private let nowMs: @Sendable () -> Int64

  /// Creates a source of covers.
  /// - Parameters:
  ///   - keys: The keys, verified.
  ///   - nowMs: The wall clock, in Unix milliseconds.
  public init(keys: RecipientKeys, nowMs: @escaping @Sendable () -> Int64) {
    self.keys = keys
    self.nowMs = nowMs
  }

  /// Returns a new cover while the keys are valid.
  /// - Throws: ``MessageSendingError`` with code `.expiredKeys`: from then on nothing is to be sent.
  public func cover() throws(MessageSendingError) -> SealedMessage {
    try keys.check(atMs: nowMs())
    return try MessageSealer(keys: keys).cover()
  }
}
