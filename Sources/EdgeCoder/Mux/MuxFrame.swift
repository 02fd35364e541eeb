/// One frame of the v2 mux; `docs/v2-mux.md` is its specification.
///
/// ```text
/// type 1 · flags 1 · stream 4 · body … · CRC-32 4      all numbers little-endian
/// ```
package enum MuxFrame: Sendable, Hashable {
  /// The first frame of the central.
  case hello(MuxTerms)
  /// The reply of the phone to HELLO.
  case welcome(MuxTerms)
  /// A request: its token limit, the length of its text, and the first bytes of the text. The text is the prompt, or a
  /// form (``RequestForm``).
  case open(stream: UInt32, maxTokens: UInt32, length: UInt32, isForm: Bool = false, text: [UInt8])
  /// More text of a prompt or of a reply.
  case data(stream: UInt32, text: [UInt8])
  /// The end of a reply. With ``MuxStatus/ok`` the text is its last part, otherwise the reason. The details are a JSON
  /// object, and empty if there are none.
  case end(stream: UInt32, status: MuxStatus, durationMs: UInt32, details: [UInt8] = [], text: [UInt8])
  /// Permission to send more bytes of text.
  case credit(stream: UInt32, bytes: UInt32)
  /// The cancellation of a request by the central.
  case cancel(stream: UInt32)
  /// The number of requests ahead of this one; 0 while it is being answered.
  case progress(stream: UInt32, ahead: UInt16)
  /// The reason why the sender closes the mux.
  case fail(reason: String)

  /// The number of bytes of a frame outside its body: type, flags, stream and checksum.
  static let overhead = 10
  /// The number of bytes in the body of OPEN before the text.
  static let openHead = 8
  /// The number of bytes in the body of END before the text, without details.
  static let endHead = 5
  /// The number of bytes in the body of END for the length of the details, where there are any.
  static let detailsHead = 2
  /// The limit on a reason, in bytes.
  static let reasonLimit = 512
  /// The smallest frame limit that a bearer must support: the longest frame that cannot be split.
  static let smallestLimit = overhead + endHead + reasonLimit
  /// The limit on frames that this side accepts. Longer ones gain nothing, because the radio splits them.
  static let longest = 2048
}

/// The terms of one side of a mux.
package struct MuxTerms: Sendable, Hashable {
  /// The version of the protocol.
  static let version: UInt8 = 2

  /// The number of bytes of text that the peer may send on each stream without credit.
  var window: UInt32
  /// The limit on a frame that this side accepts, in bytes.
  var frameLimit: UInt16
  /// A Boolean value that indicates whether this side accepts compressed text.
  var inflates: Bool
  /// A Boolean value that indicates whether this side accepts details in END.
  var takesDetails = false
  /// A Boolean value that indicates whether this side accepts requests that are forms.
  var takesForms = false
}

/// The status with which a reply ends.
package enum MuxStatus: UInt8, Sendable, Hashable, CaseIterable {
  case ok = 0
  /// The engine failed or returned nothing.
  case failed = 1
  /// No model is ready.
  case noModel = 2
  /// Too many requests are queued.
  case busy = 3
  /// The central cancelled the request.
  case cancelled = 4
  /// The request is not acceptable: too long, or not UTF-8.
  case refused = 5
  /// The prompt does not fit into the context of the model.
  case contextExceeded = 6
  /// The phone or its model does not have what the request asks for.
  case unsupported = 7

  /// The status of an answer of this kind.
  init(_ kind: Answer.Refusal.Kind) {
    // Each kind has a status of its own.
    self = Self.allCases.first { $0.refusal == kind } ?? .failed
  }

  /// The kind of refusal that the status stands for; `nil` for `ok`.
  var refusal: Answer.Refusal.Kind? {
    switch self {
    case .ok: nil
    case .failed: .failed
    case .noModel: .noModel
    case .busy: .busy
    case .cancelled: .cancelled
    case .refused: .refused
    case .contextExceeded: .contextExceeded
    case .unsupported: .unsupported
    }
  }
}

/// A violation of the mux protocol, with its description.
struct MalformedFrame: Error, Sendable, Hashable, CustomStringConvertible {
  let description: String
}
