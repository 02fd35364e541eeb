/// The central's side of a v2 link.
///
/// A value type without clock or I/O. Frames go in through ``handle(_:)``; frames come out of ``next()``.
struct LinkClientMachine: Sendable {
  enum Action: Sendable, Equatable {
    /// The phone is ready for requests.
    case ready
    /// More of a reply. To be told with ``consumed(_:_:)`` when it was taken.
    case text(stream: UInt32, [UInt8])
    /// How many requests come before this one.
    case progress(stream: UInt32, ahead: Int)
    /// A reply is complete; the reason is empty when all went well.
    case ended(stream: UInt32, LinkStatus, durationMs: Int, reason: String)
  }

  private let terms: LinkTerms
  private let bearerLimit: Int
  private var outbox: LinkOutbox?
  private var deflates = false
  private var nextStream: UInt32 = 1
  private var inboxes: [UInt32: LinkInbox] = [:]
  private var greeting: LinkFrame?

  /// - Parameters:
  ///   - terms: what this side is ready for.
  ///   - bearerLimit: the longest frame that can be sent.
  init(terms: LinkTerms, bearerLimit: Int) {
    self.terms = terms
    self.bearerLimit = bearerLimit
    greeting = .hello(terms)
  }

  /// - Throws: ``MalformedFrame`` when the phone does not keep to the protocol; the link is to be ended.
  mutating func handle(_ frame: LinkFrame) throws(MalformedFrame) -> [Action] {
    guard outbox != nil else {
      guard case .welcome(let theirs) = frame else { throw MalformedFrame(description: "no WELCOME") }
      outbox = LinkOutbox(window: Int(theirs.window), frameLimit: min(bearerLimit, Int(theirs.frameLimit)))
      deflates = theirs.inflates && terms.inflates
      return [.ready]
    }
    switch frame {
    case .data(let stream, let text):
      guard try receive(text, on: stream) else { return [] }
      return [.text(stream: stream, text)]
    case .end(let stream, let status, let durationMs, let text):
      let ended = { (reason: String) in
        Action.ended(stream: stream, status, durationMs: Int(durationMs), reason: reason)
      }
      guard status == .ok else {
        guard try receive([], on: stream) else { return [] }
        forget(stream)
        return [ended(String(decoding: text.prefix(LinkFrame.reasonLimit), as: UTF8.self))]
      }
      guard try receive(text, on: stream) else { return [] }
      forget(stream)
      return text.isEmpty ? [ended("")] : [.text(stream: stream, text), ended("")]
    case .credit(let stream, let bytes):
      outbox?.grant(stream, Int(bytes))
      return []
    case .progress(let stream, let ahead):
      return inboxes[stream] == nil ? [] : [.progress(stream: stream, ahead: Int(ahead))]
    case .fail(let reason): throw MalformedFrame(description: "the phone gave the link up: \(reason)")
    case .hello, .welcome, .open, .cancel: throw MalformedFrame(description: "a frame only the central may send")
    }
  }

  /// - Returns: whether anybody waits for it.
  private mutating func receive(_ text: [UInt8], on stream: UInt32) throws(MalformedFrame) -> Bool {
    guard stream < nextStream else { throw MalformedFrame(description: "a reply to a request that was not sent") }
    guard var inbox = inboxes[stream] else { return false }
    try inbox.receive(text.count)
    inboxes[stream] = inbox
    return true
  }

  private mutating func forget(_ stream: UInt32) {
    inboxes[stream] = nil
    outbox?.drop(stream)
  }

  // MARK: Requests

  /// Begins a request.
  /// - Returns: its stream; `nil` before the phone has said that it is ready, or when all numbers are used up.
  mutating func open(prompt: String, maxTokens: Int?) -> UInt32? {
    guard outbox != nil, nextStream < .max else { return nil }
    let stream = nextStream
    nextStream += 1
    inboxes[stream] = LinkInbox(window: Int(terms.window))
    outbox?.open(stream, maxTokens: UInt32(clamping: maxTokens ?? 0), text: Array(prompt.utf8))
    return stream
  }

  /// Nobody waits for the reply any more.
  mutating func cancel(_ stream: UInt32) {
    guard inboxes.removeValue(forKey: stream) != nil, outbox?.drop(stream) == false else { return }
    outbox?.send(.cancel(stream: stream))
  }

  /// Text was taken by whoever waits for it.
  mutating func consumed(_ stream: UInt32, _ count: Int) {
    guard let credit = inboxes[stream]?.take(count) else { return }
    outbox?.send(.credit(stream: stream, bytes: credit))
  }

  /// The next frame to send, as bytes; `nil` when there is none.
  mutating func next() -> [UInt8]? {
    if let greeting = greeting.take() { return greeting.encoded() }
    return outbox?.next()?.encoded(deflating: deflates)
  }
}
