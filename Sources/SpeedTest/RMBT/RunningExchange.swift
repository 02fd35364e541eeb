internal import Timing

/// The client's side of one exchange.
struct RunningExchange: Sendable, CustomStringConvertible {
  private enum Step: Sendable {
    /// Bytes of chunks, or of the line ERR before it is clear which.
    case chunks(ChunkReader, RefusalProbe)
    /// OK before an upload.
    case permission
    /// Chunks are sent.
    case sending(sent: UInt64)
    case pong
    case time
    case accept
    /// ACCEPT after ERR.
    case acceptAfterRefusal
  }

  private var report: ExchangeReport
  private var step: Step

  /// The shortest time between two samples; reads are far more frequent on a fast link.
  static let sampleInterval = Duration.milliseconds(10)
  /// The largest difference between the server's clock and ours over one upload that counts as honest.
  static let clockTolerance = Duration.seconds(5)

  init(_ exchange: Exchange, at now: Duration) {
    report = ExchangeReport(exchange, start: now)
    switch exchange {
    case .getChunks(_, let size), .getTime(_, let size): step = .chunks(ChunkReader(size: size), RefusalProbe())
    case .putNoResult, .put: step = .permission
    case .ping: step = .pong
    }
  }

  /// The name of the command and of the missing part, for errors.
  var description: String {
    let part =
      switch step {
      case .chunks: "payload"
      case .permission: "permission"
      case .sending: "confirmation of the payload"
      case .pong: "PONG"
      case .time: "TIME"
      case .accept, .acceptAfterRefusal: "ACCEPT"
      }
    return "\(report.exchange.name), \(part)"
  }

  /// The bytes that have arrived here, or of which the server has reported that they arrived there.
  var transferred: UInt64 {
    if case .put = report.exchange { report.samples.last?.bytes ?? 0 } else { report.bytes }
  }

  var expectsPayload: Bool {
    if case .chunks = step { true } else { false }
  }

  // MARK: Downloads

  mutating func receivePayload(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int, at now: Duration
  ) throws(SpeedTestError) -> [ClientConnection.Action] {
    guard case .chunks(var reader, var probe) = step else { return [] }
    if !probe.isDecided {
      switch probe.look(at: bytes[offset...]) {
      case .undecided(let held):
        offset += held
        step = .chunks(reader, probe)
        return []
      case .refused:
        throw SpeedTestError(.refused, "the server refused the command \(report.exchange.command.text)")
      case .payload(let held):
        reader.begin(with: held)
      }
    }
    let isLast = try reader.read(bytes, &offset)
    step = .chunks(reader, probe)
    report.bytes = reader.total
    sample(at: now, isLast: isLast)
    if case .getChunks(let count, _) = report.exchange, reader.chunks > count || isLast && reader.chunks < count {
      throw SpeedTestError(.invalidReply, "the server sent \(reader.chunks) chunks instead of \(count)")
    }
    if case .getChunks(let count, _) = report.exchange, reader.chunks == count, !isLast {
      throw SpeedTestError(.invalidReply, "chunk \(count) of \(count) is not marked as the last one")
    }
    guard isLast else { return [] }
    report.clientTime = now - report.start
    step = .time
    return [.send(ClientLine.ok.text + "\n")]
  }

  /// The number of bytes of payload that may be dropped on their way here.
  var skippable: Int {
    guard case .chunks(let reader, let probe) = step, probe.isDecided else { return 0 }
    return reader.skippable
  }

  /// Accepts payload that was dropped on its way here.
  mutating func skip(_ count: Int, at now: Duration) {
    guard case .chunks(var reader, let probe) = step else { return }
    reader.skip(count)
    step = .chunks(reader, probe)
    report.bytes = reader.total
    sample(at: now, isLast: false)
  }

  private mutating func sample(at now: Duration, isLast: Bool) {
    guard case .getTime = report.exchange else { return }
    let time = (now - report.start).wholeNanoseconds
    if let last = report.samples.last, !isLast, time < last.nanoseconds + Self.sampleInterval.wholeNanoseconds {
      return
    }
    report.samples.append(ThroughputSample(nanoseconds: time, bytes: report.bytes))
  }

  // MARK: Uploads

  mutating func nextPayload(at now: Duration) -> Payload? {
    guard case .sending(let sent) = step else { return nil }
    let payload: Payload
    switch report.exchange {
    case .putNoResult(let count, let size):
      let left = count - Int(sent / UInt64(size))
      guard left > 0 else { return nil }
      payload = Payload.next(of: size, left: left)
    case .put(let seconds, let size):
      guard report.clientTime == .zero else { return nil }
      let isOver = now - report.start >= .seconds(seconds)
      payload = Payload(size: size, count: isOver ? 0 : Payload.batch(of: size), endsWithLast: isOver)
    default: return nil
    }
    let total = sent + UInt64(payload.bytes)
    step = .sending(sent: total)
    report.bytes = total
    // The marked chunk has been handed over: nothing follows it.
    if payload.endsWithLast { report.clientTime = max(now - report.start, .nanoseconds(1)) }
    return payload
  }

  /// Checks a report or the final time: both run forwards, and no more arrives than was sent.
  private mutating func receiveTime(_ time: UInt64, bytes: UInt64?, at now: Duration) throws(SpeedTestError) {
    let last = report.samples.last ?? ThroughputSample(nanoseconds: 0, bytes: 0)
    let total = bytes ?? report.bytes
    guard time >= last.nanoseconds, total >= last.bytes else {
      throw SpeedTestError(.invalidReply, "the server's reports of the upload run backwards")
    }
    guard total <= report.bytes else {
      throw SpeedTestError(.invalidReply, "the server reports \(total) bytes; sent were \(report.bytes)")
    }
    let own = (now - report.start).wholeNanoseconds
    guard max(own, time) - min(own, time) <= Self.clockTolerance.wholeNanoseconds else {
      throw SpeedTestError(
        .invalidReply, "the server reports a time of \(time) ns, and \(own) ns have passed here")
    }
    guard case .put = report.exchange else { return }
    report.samples.append(ThroughputSample(nanoseconds: time, bytes: total))
    thin()
  }

  /// Drops the report before the last one when the one before that is less than the interval away: a server sends one
  /// every millisecond.
  private mutating func thin() {
    let count = report.samples.count
    guard count > 2 else { return }
    let interval = report.samples[count - 1].nanoseconds - report.samples[count - 3].nanoseconds
    if interval < Self.sampleInterval.wholeNanoseconds { report.samples.remove(at: count - 2) }
  }

  // MARK: Lines

  /// Accepts a line; the report is complete after ACCEPT.
  mutating func receive(
    _ line: ServerLine, _ text: String, at now: Duration
  ) throws(SpeedTestError) -> (actions: [ClientConnection.Action], report: ExchangeReport?) {
    switch (step, line) {
    case (.permission, .ok):
      step = .sending(sent: 0)
      report.start = now
      return ([.startPayload], nil)
    case (.permission, .err), (.pong, .err), (.time, .err): step = .acceptAfterRefusal
    case (.sending, .time(let time, .some(let bytes))):
      guard case .put = report.exchange else { throw ServerLine.unexpected(text) }
      try receiveTime(time, bytes: bytes, at: now)
    case (.sending, .time(let time, nil)):
      guard report.clientTime > .zero else {
        throw SpeedTestError(.invalidReply, "the server ended the upload before its last chunk was sent")
      }
      try receiveTime(time, bytes: nil, at: now)
      report.clientTime = now - report.start
      report.serverTime = time
      step = .accept
    case (.pong, .pong):
      report.clientTime = now - report.start
      step = .time
      return ([.send(ClientLine.ok.text + "\n")], nil)
    case (.time, .time(let time, nil)):
      report.serverTime = time
      step = .accept
    case (.accept, .accept): return ([], report)
    case (.acceptAfterRefusal, .accept):
      throw SpeedTestError(.refused, "the server refused the command \(report.exchange.command.text)")
    default: throw ServerLine.unexpected(text)
    }
    return ([], nil)
  }

  /// Returns the report of a direction that did not end in time, if its samples cover its duration.
  func cutOff(uncovered: Duration) -> ExchangeReport? {
    let seconds: Int
    switch report.exchange {
    case .getTime(let duration, _): seconds = duration
    case .put(let duration, _): seconds = duration
    default: return nil
    }
    let needed = (Duration.seconds(seconds) - uncovered).wholeNanoseconds
    guard let last = report.samples.last, last.nanoseconds >= needed, last.bytes > 0 else { return nil }
    var report = report
    report.serverTime = nil
    report.clientTime = .nanoseconds(Int(clamping: last.nanoseconds))
    report.bytes = last.bytes
    return report
  }
}

/// Tells the line ERR from the payload that is expected in its place.
///
/// Payload is random, so that it begins with these eleven bytes once in 2⁸⁸ times.
struct RefusalProbe: Sendable {
  enum Verdict {
    /// More bytes are needed; this many were taken.
    case undecided(Int)
    case refused
    /// Payload; this many bytes of it were taken before.
    case payload(Int)
  }

  private static let pattern = Array("ERR\nACCEPT ".utf8)
  private var matched = 0
  private(set) var isDecided = false

  mutating func look(at bytes: Slice<UnsafeRawBufferPointer>) -> Verdict {
    let held = matched
    for byte in bytes {
      guard byte == Self.pattern[matched] else {
        isDecided = true
        return .payload(held)
      }
      matched += 1
      if matched == Self.pattern.count { return .refused }
    }
    return .undecided(matched - held)
  }
}
