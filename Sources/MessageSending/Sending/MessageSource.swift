/// A source of the messages that a sender sends, head first, which never runs out of them.
///
/// ``SendingQueue`` is the queue of a user, ``VaultedQueue`` the same with the user's vault, and ``RelayQueue`` that of a
/// relay.
///
/// ```swift
/// func sendOne(of source: some MessageSource, over transport: some MessageTransport, cover: SealedMessage) async throws {
///   let head = try source.takeHead()
///   try await transport.send(head)
///   try source.removeHead(ifEqualTo: head, appending: cover)
/// }
/// ```
public protocol MessageSource: Sendable {
  /// Returns the message or cover to send now, which is the same at each call until it was removed.
  /// - Throws: ``MessageSendingError``; nothing is then to be sent.
  func takeHead() throws(MessageSendingError) -> SealedMessage

  /// Removes the head, if it equals the message that was sent, and appends a cover where the source needs one.
  /// - Returns: `true` if the head was removed.
  /// - Throws: ``MessageSendingError``; the message may then be sent once more.
  @discardableResult
  func removeHead(
    ifEqualTo message: SealedMessage, appending cover: SealedMessage
  ) throws(MessageSendingError) -> Bool

  /// Writes the files anew without a change, so that their times show the sender's ticks and nothing else.
  /// - Throws: ``MessageSendingError``.
  func rewrite() throws(MessageSendingError)
}

extension SendingQueue: MessageSource {}

/// A queue together with the vault of its user, which is written anew whenever the queue is.
///
/// A vault that is written only when its user writes would show by its times when that was, for as long as the sender
/// runs.
///
/// ```swift
/// func source(_ queue: SendingQueue) -> VaultedQueue {
///   VaultedQueue(queue, Vault(path: "/var/lib/edgeblue/messages/vault"))
/// }
/// ```
public struct VaultedQueue: MessageSource {
  private let queue: SendingQueue
  private let vault: Vault

  /// Creates a source from a queue and the vault that has its secret, which stays locked.
  public init(_ queue: SendingQueue, _ vault: Vault) {
    self.queue = queue
    self.vault = vault
  }

  /// Returns the head of the queue, as ``SendingQueue/takeHead()``.
  /// - Throws: ``MessageSendingError``.
  public func takeHead() throws(MessageSendingError) -> SealedMessage { try queue.takeHead() }

  /// Removes the head of the queue, as ``SendingQueue/removeHead(ifEqualTo:appending:)``.
  /// - Throws: ``MessageSendingError``.
  @discardableResult
  public func removeHead(
    ifEqualTo message: SealedMessage, appending cover: SealedMessage
  ) throws(MessageSendingError) -> Bool {
    try queue.removeHead(ifEqualTo: message, appending: cover)
  }

  /// Writes the files of the queue and of the vault anew, in this order.
  /// - Throws: ``MessageSendingError``.
  public func rewrite() throws(MessageSendingError) {
    try queue.rewrite()
    try vault.touch()
  }
}
