/// The EdgeCoder messages and the numbers both ends agree on.
///
/// Three UTF-8 JSON objects travel between a central and a phone: ``Request``, ``Response`` and ``Status``. They carry
/// no length and no terminator; ``JSONObjectScanner`` finds where one ends.
public enum Wire {
  /// The most bytes one encoded message may have, 256 KiB; a longer one is refused at both ends.
  public static let messageLimit = 256 * 1024

  /// How long a started message may stand still before what came of it is thrown away.
  public static let idleLimit = Duration.seconds(10)

  /// The most tokens a phone produces when the request does not say.
  public static let defaultMaxTokens = 512

  /// The longest id a phone accepts, in UTF-8 bytes. The proxy sends 36; the id comes back in every reply, so a
  /// request cannot be allowed to make it large.
  public static let idLimit = 128

  /// Why a complete JSON object is not the message it should be.
  public struct Malformed: Error, Sendable, Hashable, CustomStringConvertible {
    /// The message's id, when it could be read: then the sender can be answered.
    public var id: String?
    /// What is wrong, for a person. Never holds text of the message.
    public var reason: String

    /// Makes an error.
    public init(id: String? = nil, reason: String) {
      self.id = id
      self.reason = reason
    }

    /// The reason.
    public var description: String { "malformed message: \(reason)" }
  }
}
