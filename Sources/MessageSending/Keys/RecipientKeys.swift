/// The public keys that messages are sealed to: two nodes that open the outer box, and the recipients of the inner one.
///
/// ```swift
/// func covers(for keys: RecipientKeys) throws -> [SealedMessage] {
///   let sealer = MessageSealer(keys: keys)
///   return [try sealer.cover(), try sealer.cover()]
/// }
/// ```
public struct RecipientKeys: Sendable, Hashable {
  /// A person or program that messages are for.
  public struct Recipient: Sendable, Hashable {
    /// The name by which a user chooses the recipient, 1 to 200 bytes of UTF-8; its hash is the tag of a message.
    public let id: String
    /// The key that messages to the recipient are sealed to.
    public let key: BoxPublicKey

    /// Creates a recipient with an identifier and a key.
    public init(id: String, key: BoxPublicKey) {
      self.id = id
      self.key = key
    }
  }

  /// The largest number of recipients, 1000.
  public static let largestRecipientCount = 1000
  /// The largest difference between two clocks, in milliseconds: keys may be issued so far in the future.
  private static let clockToleranceMs: Int64 = 300_000
  /// The times that keys may have: up to the year 9999.
  static let timesMs: ClosedRange<Int64> = 0...253_402_300_799_999

  /// The two keys that the outer box is sealed to; either opens it, and tells covers from messages.
  public let nodes: [BoxPublicKey]
  /// The recipients, in the order of the document.
  public let recipients: [Recipient]
  /// The time at which the keys were issued, in Unix milliseconds.
  public let issuedMs: Int64
  /// The time from which on the keys are no longer valid, in Unix milliseconds.
  public let expiresMs: Int64

  /// Creates a set of keys.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` if there are not two nodes, a time is before 1970 or after
  ///   9999, there are more than ``largestRecipientCount`` recipients, an identifier is empty or too long, or two have
  ///   the same tag.
  public init(
    nodes: [BoxPublicKey], recipients: [Recipient], issuedMs: Int64, expiresMs: Int64
  ) throws(MessageSendingError) {
    func refuse(_ reason: String) -> MessageSendingError { MessageSendingError(.invalidArgument, reason) }
    guard nodes.count == 2 else { throw refuse("the keys have \(nodes.count) nodes; required: 2") }
    guard recipients.count <= Self.largestRecipientCount else {
      throw refuse("the keys have \(recipients.count) recipients; allowed: 0 to \(Self.largestRecipientCount)")
    }
    guard Self.timesMs.contains(issuedMs), Self.timesMs.contains(expiresMs) else {
      throw refuse("the keys have a time out of range; allowed: the years 1970 to 9999")
    }
    guard issuedMs < expiresMs else { throw refuse("the keys expire before they are issued") }
    var tags: Set<[UInt8]> = [MessageContents.coverTag]
    for recipient in recipients {
      guard (1...200).contains(recipient.id.utf8.count) else {
        throw refuse("the identifier of a recipient has \(recipient.id.utf8.count) bytes; allowed: 1 to 200")
      }
      guard tags.insert(MessageContents.tag(of: recipient.id)).inserted else {
        throw refuse("the recipient \(recipient.id) has the tag of another one; choose another identifier")
      }
    }
    self.nodes = nodes
    self.recipients = recipients
    self.issuedMs = issuedMs
    self.expiresMs = expiresMs
  }

  /// Throws unless the keys are valid at a time.
  /// - Throws: ``MessageSendingError`` with code `.expiredKeys`, also for keys that are issued more than five minutes
  ///   later: a clock that is wrong must not prolong a key.
  public func check(atMs now: Int64) throws(MessageSendingError) {
    guard now < expiresMs else {
      throw MessageSendingError(
        .expiredKeys, "the keys expired at Unix time \(expiresMs / 1000) s", hint: "fetch newer keys")
    }
    guard now >= issuedMs - Self.clockToleranceMs else {
      throw MessageSendingError(
        .expiredKeys, "the keys are valid from Unix time \(issuedMs / 1000) s on", hint: "set the clock of this machine"
      )
    }
  }
}
