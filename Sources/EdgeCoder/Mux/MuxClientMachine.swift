/// The state machine of a v2 mux at the central.
///
/// ``handle(_:)`` receives the frames of the phone, and ``next()`` returns the frames to send.
struct MuxClientMachine: Sendable {
  enum Action: Sendable, Equatable {
    /// Report that the phone accepts requests.
    case ready
    /// Deliver text of a reply; ``consumed(_:_:)`` follows when it was taken.
    case text(stream: UInt32, [UInt8])
    /// Report the number of requests ahead of this one.
    case progress(stream: UInt32, ahead: Int)
    /// Finish a reply.
    case finished(stream: UInt32, MuxEnding)
  }

  /// The state after the WELCOME of the phone.
  private struct Session {
    var queue: MuxSendQueue
    let deflates: Bool
    let takesForms: Bool
    var nextStream: UInt32 = 1
    var windows: [UInt32: MuxReceiveWindow] = [:]
  }

  private let terms: MuxTerms
  private let bearerLimit: Int
  /// The HELLO; `nil` when it was sent.
  private var greeting: MuxFrame?
  /// The open mux; `nil` before WELCOME.
  private var session: Session?

  /// - Parameters:
  ///   - terms: The terms of this side.
  ///   - bearerLimit: The limit on a frame to send, in bytes.
  init(terms: MuxTerms, bearerLimit: Int) {
    self.terms = terms
    self.bearerLimit = bearerLimit
    greeting = .hello(terms)
  }

  /// Handles a frame of the phone.
  /// - Throws: ``MalformedFrame`` for a violation of the protocol, after which the mux must be closed.
  mutating func handle(_ frame: MuxFrame) throws(MalformedFrame) -> [Action] {
    guard session != nil else {
      guard case .welcome(let theirs) = frame else { throw MalformedFrame(description: "a frame before WELCOME") }
      session = Session(
        queue: MuxSendQueue(window: Int(theirs.window), frameLimit: min(bearerLimit, Int(theirs.frameLimit))),
        deflates: theirs.inflates && terms.inflates, takesForms: theirs.takesForms && terms.takesForms)
      return [.ready]
    }
    switch frame {
    case .data(let stream, let text):
      return try receive(text, on: stream) ? [.text(stream: stream, text)] : []
    case .end(let stream, let status, let durationMs, let details, let text):
      var ending = MuxEnding(durationMs: Int(durationMs))
      if !details.isEmpty {
        guard let completion = Completion(details: details) else {
          throw MalformedFrame(description: "END with details that are not a JSON object")
        }
        ending.completion = status == .ok ? completion : nil
      }
      return try finish(stream, status, ending, text)
    case .credit(let stream, let bytes):
      session?.queue.grant(stream, Int(bytes))
      return []
    case .progress(let stream, let ahead):
      return session?.windows[stream] == nil ? [] : [.progress(stream: stream, ahead: Int(ahead))]
    // The reason is text of the peer, which may contain anything, and this description is logged.
    case .fail: throw MalformedFrame(description: "the phone closed the mux with FAIL")
    case .hello, .welcome, .open, .cancel:
      throw MalformedFrame(description: "a frame that only a central may send")
    }
  }

  private mutating func finish(
    _ stream: UInt32, _ status: MuxStatus, _ ending: MuxEnding, _ text: [UInt8]
  ) throws(MalformedFrame) -> [Action] {
    let kind = status.refusal
    // A reason needs no credit.
    guard try receive(kind == nil ? text : [], on: stream) else { return [] }
    session?.windows[stream] = nil
    session?.queue.drop(stream)
    var ending = ending
    ending.refusal = kind.map {
      Answer.Refusal($0, String(decoding: text.prefix(MuxFrame.reasonLimit), as: UTF8.self))
    }
    let finished = Action.finished(stream: stream, ending)
    return kind == nil && !text.isEmpty ? [.text(stream: stream, text), finished] : [finished]
  }

  /// - Returns: `true` if a caller waits for the reply.
  private mutating func receive(_ text: [UInt8], on stream: UInt32) throws(MalformedFrame) -> Bool {
    guard stream < session?.nextStream ?? 0 else {
      throw MalformedFrame(description: "a reply to a request that was not sent")
    }
    guard var window = session?.windows[stream] else { return false }
    try window.receive(text.count)
    session?.windows[stream] = window
    return true
  }

  // MARK: Requests

  /// A Boolean value that indicates whether the phone accepts forms.
  var takesForms: Bool { session?.takesForms ?? false }

  /// Opens a stream for a request, whose text is its prompt or a form.
  /// - Returns: The number of the stream; `nil` before WELCOME, and when all numbers are used.
  mutating func open(_ text: [UInt8], isForm: Bool, maxTokens: Int?) -> UInt32? {
    guard let stream = session?.nextStream, stream < .max else { return nil }
    session?.nextStream = stream + 1
    session?.windows[stream] = MuxReceiveWindow(window: Int(terms.window))
    session?.queue.open(stream, maxTokens: UInt32(clamping: maxTokens ?? 0), isForm: isForm, text: text)
    return stream
  }

  /// Cancels a request; has no effect when its reply is complete.
  mutating func cancel(_ stream: UInt32) {
    guard session?.windows.removeValue(forKey: stream) != nil, session?.queue.drop(stream) == false else { return }
    session?.queue.send(.cancel(stream: stream))
  }

  /// Records text that the consumer has taken.
  mutating func consumed(_ stream: UInt32, _ count: Int) {
    guard let credit = session?.windows[stream]?.consume(count) else { return }
    session?.queue.send(.credit(stream: stream, bytes: credit))
  }

  /// Returns the next frame to send as bytes; `nil` when there is none.
  mutating func next() -> [UInt8]? {
    if let greeting = greeting.take() { return greeting.encoded() }
    guard let frame = session?.queue.next() else { return nil }
    return frame.encoded(deflating: session?.deflates ?? false)
  }
}
