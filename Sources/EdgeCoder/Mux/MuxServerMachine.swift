/// The state machine of a v2 mux at the phone.
///
/// ``handle(_:)`` receives the frames of the central, and ``next()`` returns the frames to send.
struct MuxServerMachine: Sendable {
  enum Action: Sendable, Equatable {
    /// Accept a complete request. `maxTokens` is `nil` if the central leaves the limit to the phone.
    case request(stream: UInt32, prompt: String, maxTokens: Int?)
    /// Accept a complete request that is a form of so many bytes.
    case form(stream: UInt32, InferenceRequest, bytes: Int)
    /// Cancel a request.
    case cancel(stream: UInt32)
  }

  /// A request whose prompt is incomplete.
  private struct Incoming {
    let maxTokens: UInt32
    let length: Int
    let isForm: Bool
    var text: [UInt8] = []
    var window: MuxReceiveWindow
    /// The number of bytes that arrived since the last sweep; `nil` before the first one.
    var sinceSweep: Int?
  }

  /// The state after the HELLO of the central.
  private struct Session {
    var queue: MuxSendQueue
    let deflates: Bool
    let takesDetails: Bool
    var lastStream: UInt32 = 0
    var incoming: [UInt32: Incoming] = [:]
    /// The text that may still arrive on streams that were refused or cancelled, in bytes.
    var dead: [UInt32: Int] = [:]
    /// The streams whose replies consist of parts.
    var forms: Set<UInt32> = []
    /// The number of refused and cancelled requests since the last complete one.
    var refusals = 0

    /// The number of requests that are incomplete or not fully answered.
    var requests: Int { incoming.count + queue.openStreams }
  }

  /// The number of requests that one mux may have at a time, replies in flight included.
  static let streamLimit = 16

  /// The number of requests in a row that may be refused or cancelled before they are complete.
  ///
  /// Complete requests are charged to their central; these would cost it nothing.
  static let refusalLimit = 256
  /// The number of frames about the mux that may wait while the central reads too slowly.
  static let urgentLimit = 512
  /// The text that the central must take between two sweeps of a stream that has some, and that it must send of an
  /// incomplete prompt, in bytes.
  static let slowest = 1024

  private let terms: MuxTerms
  private let requestLimit: Int
  private let bearerLimit: Int
  /// The open mux; `nil` before HELLO.
  private var session: Session?
  private var lastStream: UInt32 { session?.lastStream ?? 0 }

  /// - Parameters:
  ///   - terms: The terms of this side.
  ///   - bearerLimit: The limit on a frame to send, in bytes.
  ///   - requestLimit: The limit on a prompt, in bytes.
  init(terms: MuxTerms, bearerLimit: Int, requestLimit: Int) {
    self.terms = terms
    self.bearerLimit = bearerLimit
    self.requestLimit = requestLimit
  }

  /// Handles a frame of the central.
  /// - Throws: ``MalformedFrame`` for a violation of the protocol, after which the mux must be closed.
  mutating func handle(_ frame: MuxFrame) throws(MalformedFrame) -> [Action] {
    // Never bound to a name: a second reference would copy the text of a request with each frame.
    guard session != nil else {
      guard case .hello(let theirs) = frame else { throw MalformedFrame(description: "a frame before HELLO") }
      var queue = MuxSendQueue(window: Int(theirs.window), frameLimit: min(bearerLimit, Int(theirs.frameLimit)))
      queue.send(.welcome(terms))
      session = Session(
        queue: queue, deflates: theirs.inflates && terms.inflates, takesDetails: theirs.takesDetails)
      return []
    }
    switch frame {
    case .open(let stream, let maxTokens, let length, let isForm, let text):
      let request = Incoming(
        maxTokens: maxTokens, length: Int(length), isForm: isForm,
        window: MuxReceiveWindow(window: Int(terms.window)))
      return try open(stream, request, text)
    case .data(let stream, let text):
      guard session?.incoming[stream] != nil else { return try discard(text.count, on: stream) }
      return try receive(text, on: stream)
    case .credit(let stream, let bytes):
      session?.queue.grant(stream, Int(bytes))
      return []
    case .cancel(let stream):
      guard stream <= lastStream else { throw MalformedFrame(description: "CANCEL before OPEN") }
      guard session?.incoming[stream] != nil || session?.queue.isOpen(stream) == true else { return [] }
      if let incoming = session?.incoming.removeValue(forKey: stream) {
        try bury(stream, window: incoming.window.granted)
      }
      close(stream)
      try sendUrgent(.end(stream: stream, status: .cancelled, durationMs: 0, text: []))
      return [.cancel(stream: stream)]
    // The reason is text of the peer, which may contain anything, and this description is logged.
    case .fail: throw MalformedFrame(description: "the central closed the mux with FAIL")
    case .hello, .welcome, .end, .progress: throw MalformedFrame(description: "a frame that only a phone may send")
    }
  }

  private mutating func open(
    _ stream: UInt32, _ request: Incoming, _ text: [UInt8]
  ) throws(MalformedFrame) -> [Action] {
    guard stream > lastStream else {
      throw MalformedFrame(description: "stream \(stream); allowed: more than \(lastStream)")
    }
    session?.lastStream = stream
    guard request.length <= requestLimit else {
      return try refuse(stream, .refused, "the prompt has \(request.length) bytes; allowed: \(requestLimit)")
    }
    guard (session?.requests ?? 0) < Self.streamLimit else {
      return try refuse(stream, .busy, "this mux has \(Self.streamLimit) open requests, the most allowed")
    }
    session?.incoming[stream] = request
    return try receive(text, on: stream)
  }

  private mutating func receive(_ text: [UInt8], on stream: UInt32) throws(MalformedFrame) -> [Action] {
    // Taken out, so that its text grows in place.
    guard var request = session?.incoming.removeValue(forKey: stream) else { return [] }
    try request.window.receive(text.count)
    request.text += text
    request.sinceSweep = request.sinceSweep.map { $0 + text.count }
    guard request.text.count <= request.length else {
      throw MalformedFrame(description: "a prompt longer than the announced \(request.length) bytes")
    }
    guard request.text.count == request.length else {
      if let credit = request.window.consume(text.count) {
        try sendUrgent(.credit(stream: stream, bytes: credit))
      }
      session?.incoming[stream] = request
      return []
    }
    let maxTokens = request.maxTokens == 0 ? nil : Int(request.maxTokens)
    if request.isForm { return try accept(form: request.text, maxTokens, on: stream) }
    guard let prompt = String(validating: request.text, as: UTF8.self) else {
      return try refuse(stream, .refused, "the prompt is not UTF-8")
    }
    session?.refusals = 0
    session?.queue.open(stream)
    return [.request(stream: stream, prompt: prompt, maxTokens: maxTokens)]
  }

  private mutating func accept(
    form: [UInt8], _ maxTokens: Int?, on stream: UInt32
  ) throws(MalformedFrame) -> [Action] {
    let request: InferenceRequest
    do throws(InvalidRequest) {
      request = try RequestForm.decode(form, maxTokens: maxTokens)
    } catch {
      return try refuse(stream, .unsupported, error.description)
    }
    session?.refusals = 0
    session?.queue.open(stream)
    session?.forms.insert(stream)
    return [.form(stream: stream, request, bytes: form.count)]
  }

  private mutating func refuse(
    _ stream: UInt32, _ status: MuxStatus, _ reason: String
  ) throws(MalformedFrame) -> [Action] {
    try bury(stream, window: Int(terms.window))
    try sendUrgent(.end(stream: stream, status: status, durationMs: 0, text: Array(reason.utf8)))
    return []
  }

  // MARK: Limits

  /// Counts a request that ended before it was complete, whose text may still be in flight as far as its credit goes.
  private mutating func bury(_ stream: UInt32, window: Int) throws(MalformedFrame) {
    session?.refusals += 1
    guard (session?.refusals ?? 0) <= Self.refusalLimit else {
      throw MalformedFrame(description: "more than \(Self.refusalLimit) refused or cancelled requests in a row")
    }
    session?.dead[stream] = window
    // The oldest one has ended for the central, too: it may not have more streams than this.
    if let dead = session?.dead, dead.count > Self.refusalLimit, let oldest = dead.keys.min() {
      session?.dead[oldest] = nil
    }
  }

  /// Discards text of a request that ended, which the central may have sent before it knew.
  private mutating func discard(_ count: Int, on stream: UInt32) throws(MalformedFrame) -> [Action] {
    guard stream <= lastStream else { throw MalformedFrame(description: "DATA before OPEN") }
    let left = (session?.dead[stream] ?? 0) - count
    guard left >= 0 else { throw MalformedFrame(description: "DATA after the end of its stream") }
    session?.dead[stream] = left
    return []
  }

  private mutating func sendUrgent(_ frame: MuxFrame) throws(MalformedFrame) {
    guard (session?.queue.urgentFrames ?? 0) < Self.urgentLimit else {
      throw MalformedFrame(description: "the central reads too slowly: \(Self.urgentLimit) frames wait")
    }
    session?.queue.send(frame)
  }

  /// Ends the replies of which the central took almost nothing since the last sweep, and the requests of which almost
  /// nothing arrived.
  mutating func sweep() throws(MalformedFrame) -> [Action] {
    var actions: [Action] = []
    for (stream, request) in session?.incoming ?? [:] {
      session?.incoming[stream]?.sinceSweep = 0
      guard let count = request.sinceSweep, count < Self.slowest else { continue }
      session?.incoming[stream] = nil
      try bury(stream, window: request.window.granted)
      let reason = Array("less than \(Self.slowest) bytes of the prompt arrived in a minute".utf8)
      try sendUrgent(.end(stream: stream, status: .refused, durationMs: 0, text: reason))
    }
    for stream in session?.queue.sweep(minimum: Self.slowest) ?? [] {
      close(stream)
      let reason = Array("the central took less than \(Self.slowest) bytes of the reply in a minute".utf8)
      try sendUrgent(.end(stream: stream, status: .failed, durationMs: 0, text: reason))
      actions.append(.cancel(stream: stream))
    }
    return actions
  }

  // MARK: Replies

  /// Appends text to a reply; has no effect on a stream that is closed.
  mutating func append(_ stream: UInt32, _ text: String) { append(stream, .text(text)) }

  /// Appends a part to a reply; has no effect on a stream that is closed. A reply to a prompt has only text.
  mutating func append(_ stream: UInt32, _ part: ReplyPart) {
    if session?.forms.contains(stream) == true {
      session?.queue.append(stream, part.line)
    } else if case .text(let text) = part {
      session?.queue.append(stream, text.utf8)
    } else if case .thinking = part, session?.queue.urgentFrames == 0 {
      // The text has no place for it. A frame that waits says as much as two.
      progress(stream, ahead: 0)
    }
  }

  private mutating func close(_ stream: UInt32) {
    session?.queue.drop(stream)
    session?.forms.remove(stream)
  }

  /// A Boolean value that indicates whether the central is told why a reply ends.
  var tellsCompletion: Bool { session?.takesDetails ?? false }

  /// Finishes a reply.
  mutating func finish(_ stream: UInt32, _ ending: MuxEnding) {
    let withDetails = tellsCompletion
    session?.queue.finish(stream, ending, withDetails: withDetails)
    session?.forms.remove(stream)
  }

  /// Reports the number of requests ahead of this one.
  mutating func progress(_ stream: UInt32, ahead: Int) {
    guard let queue = session?.queue, queue.isOpen(stream), queue.urgentFrames < Self.urgentLimit else { return }
    session?.queue.send(.progress(stream: stream, ahead: UInt16(clamping: ahead)))
  }

  /// Returns the next frame to send as bytes; `nil` when there is none.
  mutating func next() -> [UInt8]? {
    guard let frame = session?.queue.next() else { return nil }
    return frame.encoded(deflating: session?.deflates ?? false)
  }
}
