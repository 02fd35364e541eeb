/// The phone's side of a v2 link: what the central's frames mean, and what goes back.
///
/// A value type without clock or I/O. Frames go in through ``handle(_:)``; frames come out of ``next()``.
struct LinkServerMachine: Sendable {
  enum Action: Sendable, Equatable {
    /// A request is complete. `maxTokens` is `nil` when the central leaves it to the phone.
    case request(stream: UInt32, prompt: String, maxTokens: Int?)
    /// The central no longer wants the reply.
    case cancel(stream: UInt32)
  }

  /// A request of which a part is still to come.
  private struct Incoming {
    let maxTokens: UInt32
    let length: Int
    var text: [UInt8] = []
    var inbox: LinkInbox
  }

  /// How many requests one link may have at a time, replies on their way included.
  static let streamLimit = 16

  private let terms: LinkTerms
  private let requestLimit: Int
  private let bearerLimit: Int
  private var outbox: LinkOutbox?
  private var deflates = false
  private var lastStream: UInt32 = 0
  private var incoming: [UInt32: Incoming] = [:]

  /// - Parameters:
  ///   - terms: what this side is ready for.
  ///   - bearerLimit: the longest frame that can be sent.
  ///   - requestLimit: the longest prompt, in bytes.
  init(terms: LinkTerms, bearerLimit: Int, requestLimit: Int) {
    self.terms = terms
    self.bearerLimit = bearerLimit
    self.requestLimit = requestLimit
  }

  /// - Throws: ``MalformedFrame`` when the central does not keep to the protocol; the link is to be ended.
  mutating func handle(_ frame: LinkFrame) throws(MalformedFrame) -> [Action] {
    guard outbox != nil else {
      guard case .hello(let theirs) = frame else { throw MalformedFrame(description: "no HELLO") }
      outbox = LinkOutbox(window: Int(theirs.window), frameLimit: min(bearerLimit, Int(theirs.frameLimit)))
      deflates = theirs.inflates && terms.inflates
      outbox?.send(.welcome(terms))
      return []
    }
    switch frame {
    case .open(let stream, let maxTokens, let length, let text):
      return try open(stream, maxTokens, Int(length), text)
    case .data(let stream, let text):
      // Of a request that was refused or cancelled meanwhile, the rest may still be on its way.
      guard incoming[stream] != nil else {
        guard stream <= lastStream else { throw MalformedFrame(description: "DATA before OPEN") }
        return []
      }
      return try take(text, of: stream)
    case .credit(let stream, let bytes):
      outbox?.grant(stream, Int(bytes))
      return []
    case .cancel(let stream):
      guard stream <= lastStream else { throw MalformedFrame(description: "CANCEL before OPEN") }
      if incoming.removeValue(forKey: stream) != nil || outbox?.isOpen(stream) == true {
        outbox?.drop(stream)
        outbox?.send(.end(stream: stream, status: .cancelled, durationMs: 0, text: []))
        return [.cancel(stream: stream)]
      }
      return []
    case .fail(let reason): throw MalformedFrame(description: "the central gave the link up: \(reason)")
    case .hello, .welcome, .end, .progress: throw MalformedFrame(description: "a frame only the phone may send")
    }
  }

  private mutating func open(
    _ stream: UInt32, _ maxTokens: UInt32, _ length: Int, _ text: [UInt8]
  ) throws(MalformedFrame) -> [Action] {
    guard stream > lastStream else { throw MalformedFrame(description: "stream \(stream) was used before") }
    lastStream = stream
    guard length <= requestLimit else {
      return refuse(stream, .refused, "the prompt has \(length) bytes, the limit is \(requestLimit)")
    }
    guard incoming.count + (outbox?.openStreams ?? 0) < Self.streamLimit else {
      return refuse(stream, .busy, "\(Self.streamLimit) requests are under way on this link")
    }
    incoming[stream] = Incoming(maxTokens: maxTokens, length: length, inbox: LinkInbox(window: Int(terms.window)))
    return try take(text, of: stream)
  }

  private mutating func take(_ text: [UInt8], of stream: UInt32) throws(MalformedFrame) -> [Action] {
    guard var request = incoming[stream] else { return [] }
    try request.inbox.receive(text.count)
    request.text += text
    guard request.text.count <= request.length else {
      throw MalformedFrame(description: "a prompt longer than announced")
    }
    guard request.text.count == request.length else {
      if let credit = request.inbox.take(text.count) { outbox?.send(.credit(stream: stream, bytes: credit)) }
      incoming[stream] = request
      return []
    }
    incoming[stream] = nil
    guard let prompt = String(validating: request.text, as: UTF8.self) else {
      return refuse(stream, .refused, "the prompt is no UTF-8")
    }
    outbox?.open(stream)
    let maxTokens = request.maxTokens == 0 ? nil : Int(request.maxTokens)
    return [.request(stream: stream, prompt: prompt, maxTokens: maxTokens)]
  }

  private mutating func refuse(_ stream: UInt32, _ status: LinkStatus, _ reason: String) -> [Action] {
    outbox?.send(.end(stream: stream, status: status, durationMs: 0, text: Array(reason.utf8)))
    return []
  }

  // MARK: Replies

  /// More of a reply; without effect when nobody wants it any more.
  mutating func append(_ stream: UInt32, _ text: String) { outbox?.append(stream, text.utf8) }

  /// The end of a reply.
  mutating func finish(_ stream: UInt32, _ status: LinkStatus, durationMs: Int, reason: String = "") {
    outbox?.finish(stream, status, durationMs: UInt32(clamping: durationMs), reason: reason)
  }

  /// How many requests come before this one.
  mutating func progress(_ stream: UInt32, ahead: Int) {
    guard outbox?.isOpen(stream) == true else { return }
    outbox?.send(.progress(stream: stream, ahead: UInt16(clamping: ahead)))
  }

  /// The next frame to send, as bytes; `nil` when there is none.
  mutating func next() -> [UInt8]? { outbox?.next()?.encoded(deflating: deflates) }
}
