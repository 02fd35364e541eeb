/// One frame of the v2 link; `docs/link-v2.md` is its specification.
///
/// ```
/// type 1 · flags 1 · stream 4 · body … · CRC-32 4      all numbers little-endian
/// ```
enum LinkFrame: Sendable, Hashable {
  /// The central's first frame.
  case hello(LinkTerms)
  /// The phone's answer to it.
  case welcome(LinkTerms)
  /// A request: what it wants, the length of its prompt, and the prompt's first bytes.
  case open(stream: UInt32, maxTokens: UInt32, length: UInt32, text: [UInt8])
  /// More of a prompt, or of a reply.
  case data(stream: UInt32, text: [UInt8])
  /// A reply is complete. With ``LinkStatus/ok`` the text is its last part, else the reason.
  case end(stream: UInt32, status: LinkStatus, durationMs: UInt32, text: [UInt8])
  /// The receiver has room for so many more bytes of text.
  case credit(stream: UInt32, bytes: UInt32)
  /// The central no longer wants the reply.
  case cancel(stream: UInt32)
  /// How many requests come before this one; 0 when it is being answered.
  case progress(stream: UInt32, ahead: UInt16)
  /// The sender gives the link up, and says why.
  case fail(reason: String)

  /// What a frame takes beside its body: type, flags, stream and checksum.
  static let overhead = 10
  /// What OPEN and END have in their bodies beside the text.
  static let openHead = 8
  static let endHead = 5
  /// The longest reason, in bytes.
  static let reasonLimit = 512
  /// The least a bearer must carry: the longest frame that cannot be cut.
  static let smallestLimit = overhead + endHead + reasonLimit
  /// The longest frame this side takes. Longer ones gain nothing: the radio cuts them all.
  static let longest = 2048
}

/// What one side of a link is ready for.
struct LinkTerms: Sendable, Hashable {
  /// The version of the protocol.
  static let version: UInt8 = 2

  /// Bytes of text each stream may send before it needs credit.
  var window: UInt32
  /// The longest frame it takes, in bytes.
  var frameLimit: UInt16
  /// Whether it takes compressed text.
  var inflates: Bool
}

/// How a request ended.
enum LinkStatus: UInt8, Sendable, Hashable {
  case ok = 0
  /// The engine failed, or had nothing to say.
  case failed = 1
  /// No model is ready.
  case noModel = 2
  /// Too many requests wait.
  case busy = 3
  /// The central cancelled it.
  case cancelled = 4
  /// The request is not acceptable: too long, no UTF-8, not allowed.
  case refused = 5
}

/// Why bytes are no frame.
struct MalformedFrame: Error, Sendable, Hashable, CustomStringConvertible {
  let description: String
}
