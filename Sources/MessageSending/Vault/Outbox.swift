/// The user's side of the queue: writes messages, and shows which of them wait and which were sent.
///
/// Nothing of it is sent at once: the sender goes on at its own rate, and does not learn of it.
///
/// ```swift
/// func write(_ text: String, with outbox: Outbox, keys: RecipientKeys) throws {
///   _ = try outbox.write(text, to: "desk", sealer: MessageSealer(keys: keys))
///   print(try outbox.messages().map(\.state))  // [.pending]
/// }
/// ```
public struct Outbox: Sendable {
  /// The state of a message that was written.
  public enum State: Sendable, Hashable {
    /// The message waits in the queue.
    case pending
    /// The message has left the queue, because a server has taken it.
    case sent
    /// The message is not in the queue; the queue's file was damaged after it was written, so that it may have been lost.
    case unknown
  }

  /// A message that was written.
  public struct Written: Sendable, Hashable {
    /// The hint of the message.
    public let hint: MessageHint
    /// The state of the message.
    public let state: State
  }

  private let vault: UnlockedVault
  private let queue: SendingQueue

  /// Creates an outbox of a vault and the queue that its secret is for.
  public init(vault: UnlockedVault, queue: SendingQueue) {
    self.vault = vault
    self.queue = queue
  }

  /// Seals and queues a text, and remembers its hint.
  /// - Returns: The hint of the message, which is on disk.
  /// - Throws: ``MessageSendingError`` with code `.textDoesNotFit`, `.queueIsFull`, `.invalidArgument` for an unknown
  ///   recipient, or `.storage`. The hint of the error says when the message is queued in spite of it.
  public func write(_ text: String, to recipient: String, sealer: MessageSealer) throws(MessageSendingError)
    -> MessageHint
  {
    let message = try sealer.message(text, to: recipient, from: vault.userKey().publicKey)
    // A file that is damaged now is set aside by looking; of one that is damaged from now on this is not the mark.
    _ = try queue.hints(secret: vault.secret)
    let damage = try queue.damage()
    // The queue first: a hint without a message would look as if the message were sent.
    let hint = try queue.append(message, secret: vault.secret)
    do {
      try vault.add((damage.map { [$0] } ?? []) + queue.hints(secret: vault.secret))
    } catch {
      var error = error
      error.hint = "the message is queued and will be sent; do not write it again"
      throw error
    }
    return hint
  }

  /// Returns the messages that were written, oldest first.
  /// - Throws: ``MessageSendingError``.
  public func messages() throws(MessageSendingError) -> [Written] {
    // In this order: a message that is queued meanwhile must not look as if it were sent.
    let entries = try vault.entries()
    let pending = try queue.hints(secret: vault.secret)
    var uncertain = entries.lastIndex(where: \.marksDamage) ?? 0
    // Nothing was written since the last damage.
    if let damage = try queue.damage(), !entries.contains(damage) { uncertain = entries.count }
    // A crash between queue and vault leaves a message that only the queue knows.
    return (entries + pending.filter { !entries.contains($0) }).enumerated().filter { !$0.element.marksDamage }.map {
      (number, hint) in
      Written(hint: hint, state: pending.contains(hint) ? .pending : number < uncertain ? .unknown : .sent)
    }
  }

  /// Replaces all messages in the queue by covers, and forgets all that was written.
  /// - Throws: ``MessageSendingError``.
  public func wipe() throws(MessageSendingError) {
    // The hints first: without their messages they would look as if those were sent.
    try vault.removeHints()
    try queue.wipe()
  }
}
