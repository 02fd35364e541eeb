/// The messages of the EdgeCoder protocol and the limits on which both ends agree.
///
/// A central and a phone exchange three kinds of JSON objects in UTF-8: ``Request``, ``Response`` and ``Status``. The
/// messages carry no length and no terminator; ``JSONObjectScanner`` finds the end of each.
public enum Wire {
  /// The limit on one encoded message, 256 KiB; both ends refuse a longer one.
  public static let messageLimit = 256 * 1024

  /// The time after which an incomplete message that does not grow is discarded, 10 s.
  public static let idleLimit = Duration.seconds(10)

  /// The limit on the tokens of a reply to a JSON request that has none, as in the phone application.
  public static let defaultMaxTokens = 512

  /// The limit on an identifier, 128 bytes of UTF-8.
  ///
  /// The EdgeCoder proxy sends 36 bytes. Each reply repeats the identifier, so the limit also bounds the replies.
  public static let idLimit = 128

  /// An error that describes why a complete JSON object is not the expected message.
  public struct Malformed: Error, Sendable, Hashable, CustomStringConvertible {
    /// The identifier of the message if it was readable; the sender can then be sent a reply.
    public var id: String?
    /// The reason for display, which never contains text of the message.
    public var reason: String

    /// Creates an error from the identifier and the reason.
    public init(id: String? = nil, reason: String) {
      self.id = id
      self.reason = reason
    }

    /// The text of the error for logs and displays.
    public var description: String { "malformed message: \(reason)" }
  }
}
