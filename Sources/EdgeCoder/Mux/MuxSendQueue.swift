/// The frames that one side of a mux has to send: frames about the mux first, then the text of the streams in turn, each
/// as far as its credit allows.
struct MuxSendQueue: Sendable {
  /// The first frame of a request.
  private struct Opening {
    let maxTokens: UInt32
    let length: UInt32
    let isForm: Bool
  }

  /// The last frame of a reply.
  private struct Ending {
    let durationMs: UInt32
    let refusal: Answer.Refusal?
    let details: [UInt8]

    /// The number of bytes of END before its text.
    var head: Int { MuxFrame.endHead + (details.isEmpty ? 0 : MuxFrame.detailsHead + details.count) }
  }

  /// The part that follows the text of a stream.
  private enum Tail {
    /// More text may be appended.
    case open
    /// The text is followed by END.
    case ending(Ending)
    /// Nothing follows the text.
    case none
  }

  /// The unsent part of one stream.
  private struct Stream {
    /// The OPEN that precedes the text; `nil` when it was sent, and for a reply.
    var opening: Opening?
    var text: [UInt8] = []
    /// The number of bytes of the text that were sent.
    var sent = 0
    /// The number of bytes sent since the last sweep; `nil` if nothing was waiting at that time.
    var sentSinceSweep: Int?
    var credit: Int
    var tail: Tail

    var isSpent: Bool { sent == text.count }

    var isFinished: Bool {
      guard isSpent, opening == nil, case .none = tail else { return false }
      return true
    }
  }

  /// The number of bytes of text that may be sent on a stream without credit.
  let window: Int
  /// The limit of the peer and the bearer on a frame, in bytes.
  let frameLimit: Int
  private var urgent: [MuxFrame] = []
  private var streams: [UInt32: Stream] = [:]
  /// The streams that may have something to send, the next one first.
  private var turns: [UInt32] = []

  init(window: Int, frameLimit: Int) {
    self.window = window
    self.frameLimit = max(frameLimit, MuxFrame.smallestLimit)
  }

  /// The number of frames about the mux that were not sent yet.
  var urgentFrames: Int { urgent.count }

  /// The number of streams with something left to send.
  var openStreams: Int { streams.count }

  func isOpen(_ stream: UInt32) -> Bool { streams[stream] != nil }

  /// Queues a frame about the mux.
  mutating func send(_ frame: MuxFrame) { urgent.append(frame) }

  /// Opens a stream for a request, whose text is complete: a prompt, or a form.
  mutating func open(_ stream: UInt32, maxTokens: UInt32, isForm: Bool = false, text: [UInt8]) {
    let opening = Opening(maxTokens: maxTokens, length: UInt32(clamping: text.count), isForm: isForm)
    streams[stream] = Stream(opening: opening, text: text, credit: window, tail: .none)
    turns.append(stream)
  }

  /// Opens a stream for a reply, whose text is appended later.
  mutating func open(_ stream: UInt32) { streams[stream] = Stream(credit: window, tail: .open) }

  /// Appends text to a reply.
  mutating func append(_ stream: UInt32, _ text: some Sequence<UInt8>) {
    guard streams[stream] != nil else { return }
    giveTurn(stream)
    streams[stream]?.text.append(contentsOf: text)
  }

  /// Finishes a reply. Text that waits is sent before END.
  /// - Parameters:
  ///   - ending: The end of the reply.
  ///   - withDetails: A Boolean value that indicates whether the peer accepts details.
  mutating func finish(_ stream: UInt32, _ ending: MuxEnding, withDetails: Bool) {
    guard streams[stream] != nil else { return }
    giveTurn(stream)
    streams[stream]?.tail = .ending(
      Ending(
        durationMs: UInt32(clamping: ending.durationMs), refusal: ending.refusal,
        details: withDetails ? ending.completion?.details ?? [] : []))
  }

  /// Discards a stream with everything that waits on it.
  /// - Returns: `true` if the peer does not know the stream, because its OPEN was not sent.
  @discardableResult
  mutating func drop(_ stream: UInt32) -> Bool {
    turns.removeAll { $0 == stream }
    return streams.removeValue(forKey: stream)?.opening != nil
  }

  /// Returns the streams whose text has waited since the last sweep, while the peer took less than a minimum of it.
  mutating func sweep(minimum: Int) -> [UInt32] {
    let stalled = streams.filter { !$0.value.isSpent && ($0.value.sentSinceSweep ?? .max) < minimum }.keys.sorted()
    streams = streams.mapValues { stream in
      var stream = stream
      stream.sentSinceSweep = stream.isSpent ? nil : 0
      return stream
    }
    return stalled
  }

  /// Adds credit from the peer.
  mutating func grant(_ stream: UInt32, _ bytes: Int) {
    guard let credit = streams[stream]?.credit else { return }
    // No stream needs more, and a sum that overflows would trap.
    streams[stream]?.credit = min(credit + bytes, 1 << 30)
    giveTurn(stream)
  }

  private mutating func giveTurn(_ stream: UInt32) {
    if !turns.contains(stream) { turns.append(stream) }
  }

  /// Returns the next frame; `nil` when no frame may be sent now.
  mutating func next() -> MuxFrame? {
    if !urgent.isEmpty { return urgent.removeFirst() }
    while let stream = turns.first {
      turns.removeFirst()
      guard let frame = nextFrame(of: stream) else { continue }
      if streams[stream] != nil { turns.append(stream) }
      return frame
    }
    return nil
  }

  private mutating func nextFrame(of id: UInt32) -> MuxFrame? {
    guard var stream = streams[id] else { return nil }
    defer { streams[id] = stream.isFinished ? nil : stream }
    if let opening = stream.opening {
      stream.opening = nil
      return .open(
        stream: id, maxTokens: opening.maxTokens, length: opening.length, isForm: opening.isForm,
        text: take(&stream, beside: MuxFrame.openHead))
    }
    if case .ending(let ending) = stream.tail, let text = lastText(of: &stream, ending) {
      stream.tail = .none
      let status = ending.refusal.map { MuxStatus($0.kind) } ?? .ok
      return .end(
        stream: id, status: status, durationMs: ending.durationMs, details: ending.details, text: text)
    }
    guard !stream.isSpent, stream.credit > 0 else { return nil }
    return .data(stream: id, text: take(&stream, beside: 0))
  }

  /// Returns the text of END: the rest of a reply if it fits, or the reason after all text was sent; `nil` before.
  private func lastText(of stream: inout Stream, _ ending: Ending) -> [UInt8]? {
    if let refusal = ending.refusal {
      let limit = min(MuxFrame.reasonLimit, frameLimit - MuxFrame.overhead - ending.head)
      return stream.isSpent ? Array(refusal.reason.utf8.prefix(limit)) : nil
    }
    let limit = min(stream.credit, frameLimit - MuxFrame.overhead - ending.head)
    guard stream.text.count - stream.sent <= limit else { return nil }
    return take(&stream, beside: ending.head)
  }

  private func take(_ stream: inout Stream, beside head: Int) -> [UInt8] {
    let limit = frameLimit - MuxFrame.overhead - head
    let count = min(stream.text.count - stream.sent, stream.credit, limit)
    let text = Array(stream.text[stream.sent..<stream.sent + count])
    stream.sent += count
    stream.credit -= count
    if let before = stream.sentSinceSweep { stream.sentSinceSweep = before + count }
    // Sent text is released in bulk, so that a long reply takes linear time.
    if stream.sent > 65536 {
      stream.text.removeFirst(stream.sent)
      stream.sent = 0
    }
    return text
  }
}
