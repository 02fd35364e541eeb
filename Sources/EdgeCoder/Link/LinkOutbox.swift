/// What one side of a link has to send: frames about the link first, then the streams' text in turns, each as far as
/// its credit goes.
///
/// A value type: it decides what goes next, and does nothing itself.
struct LinkOutbox: Sendable {
  /// What is to be sent on one stream.
  private struct Stream {
    /// Sent before the text; `nil` when it was, or for a reply.
    var opening: (maxTokens: UInt32, length: UInt32)?
    var text: [UInt8] = []
    /// How much of the text was sent.
    var sent = 0
    var credit: Int
    /// How the reply ends, once all text was sent.
    var end: (status: LinkStatus, durationMs: UInt32, reason: [UInt8])?
    /// Whether nothing comes after the text.
    var isComplete = false

    var isSpent: Bool { sent == text.count }
  }

  /// Bytes of text a stream may have sent without credit.
  let window: Int
  /// The longest frame the other side and the bearer take.
  let frameLimit: Int
  private var urgent: [LinkFrame] = []
  private var streams: [UInt32: Stream] = [:]
  /// The streams that may have something to send, the next one first.
  private var turns: [UInt32] = []

  init(window: Int, frameLimit: Int) {
    self.window = window
    self.frameLimit = max(frameLimit, LinkFrame.smallestLimit)
  }

  /// The streams on which something is still to be sent.
  var openStreams: Int { streams.count }

  func isOpen(_ stream: UInt32) -> Bool { streams[stream] != nil }

  mutating func send(_ frame: LinkFrame) { urgent.append(frame) }

  /// A request: all of it is known at once.
  mutating func open(_ stream: UInt32, maxTokens: UInt32, text: [UInt8]) {
    streams[stream] = Stream(
      opening: (maxTokens, UInt32(clamping: text.count)), text: text, credit: window, isComplete: true)
    turns.append(stream)
  }

  /// A reply, of which nothing is known yet.
  mutating func open(_ stream: UInt32) { streams[stream] = Stream(credit: window) }

  /// More of a reply.
  mutating func append(_ stream: UInt32, _ text: some Sequence<UInt8>) {
    guard streams[stream] != nil else { return }
    giveTurn(stream)
    streams[stream]?.text.append(contentsOf: text)
  }

  /// The end of a reply. Text that waits still goes out before it.
  mutating func finish(_ stream: UInt32, _ status: LinkStatus, durationMs: UInt32, reason: String = "") {
    guard streams[stream] != nil else { return }
    giveTurn(stream)
    streams[stream]?.end = (status, durationMs, Array(reason.utf8.prefix(LinkFrame.reasonLimit)))
    streams[stream]?.isComplete = true
  }

  /// Forgets a stream; what waits on it is not sent.
  /// - Returns: whether the other side has not even heard of it.
  @discardableResult
  mutating func drop(_ stream: UInt32) -> Bool {
    turns.removeAll { $0 == stream }
    return streams.removeValue(forKey: stream)?.opening != nil
  }

  /// The other side has room for more.
  mutating func grant(_ stream: UInt32, _ bytes: Int) {
    guard let credit = streams[stream]?.credit else { return }
    // Nobody needs more than this; a sum that overflows would trap.
    streams[stream]?.credit = min(credit + bytes, 1 << 30)
    giveTurn(stream)
  }

  private mutating func giveTurn(_ stream: UInt32) {
    if !turns.contains(stream) { turns.append(stream) }
  }

  /// The next frame; `nil` when there is nothing that may be sent now.
  mutating func next() -> LinkFrame? {
    if !urgent.isEmpty { return urgent.removeFirst() }
    while let stream = turns.first {
      turns.removeFirst()
      guard let frame = nextFrame(of: stream) else { continue }
      if streams[stream] != nil { turns.append(stream) }
      return frame
    }
    return nil
  }

  private mutating func nextFrame(of id: UInt32) -> LinkFrame? {
    guard var stream = streams[id] else { return nil }
    defer {
      streams[id] = stream.isComplete && stream.isSpent && stream.opening == nil && stream.end == nil ? nil : stream
    }
    if let (maxTokens, length) = stream.opening {
      stream.opening = nil
      return .open(stream: id, maxTokens: maxTokens, length: length, text: take(&stream, beside: LinkFrame.openHead))
    }
    let isLast =
      stream.text.count - stream.sent <= min(stream.credit, frameLimit - LinkFrame.overhead - LinkFrame.endHead)
    if let (status, durationMs, reason) = stream.end, isLast {
      if status == .ok || stream.isSpent {
        let text = status == .ok ? take(&stream, beside: LinkFrame.endHead) : reason
        stream.end = nil
        return .end(stream: id, status: status, durationMs: durationMs, text: text)
      }
    }
    guard !stream.isSpent, stream.credit > 0 else { return nil }
    return .data(stream: id, text: take(&stream, beside: 0))
  }

  private func take(_ stream: inout Stream, beside head: Int) -> [UInt8] {
    let room = frameLimit - LinkFrame.overhead - head
    let count = min(stream.text.count - stream.sent, stream.credit, room)
    let text = Array(stream.text[stream.sent..<stream.sent + count])
    stream.sent += count
    stream.credit -= count
    // What was sent is let go in bulk, so that a long reply costs no more than linear time.
    if stream.sent > 65536 {
      stream.text.removeFirst(stream.sent)
      stream.sent = 0
    }
    return text
  }
}
