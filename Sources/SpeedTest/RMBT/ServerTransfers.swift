internal import Timing

/// A download as the server sees it.
struct SendingChunks: Sendable {
  enum End: Sendable {
    case afterChunks(Int)
    case after(Duration)
  }

  let size: Int
  let end: End
  let start: Duration
  private var sent = 0

  init(size: Int, end: End, start: Duration) {
    self.size = size
    self.end = end
    self.start = start
  }

  mutating func next(at now: Duration) -> Payload {
    switch end {
    case .afterChunks(let count):
      let payload = Payload.next(of: size, left: count - sent)
      sent += payload.count
      return payload
    case .after(let duration):
      let isOver = now - start >= duration
      return Payload(size: size, count: isOver ? 0 : Payload.batch(of: size), endsWithLast: isOver)
    }
  }
}

/// An upload as the server sees it.
struct ReceivingChunks: Sendable {
  private var reader: ChunkReader
  private let reports: Bool
  private let start: Duration
  private var lastReport: Duration?

  static let reportInterval = Duration.milliseconds(1)

  init(size: Int, reports: Bool, start: Duration) {
    reader = ChunkReader(size: size)
    self.reports = reports
    self.start = start
  }

  /// Returns the lines to send and whether the last chunk is complete; ACCEPT is left to the caller.
  mutating func receive(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int, at now: Duration, _ isWritable: Bool
  ) throws(SpeedTestError) -> (text: String, isLast: Bool) {
    let isLast = try reader.read(bytes, &offset)
    let text = report(at: now, isWritable)
    return (isLast ? text + "TIME \((now - start).wholeNanoseconds)\n" : text, isLast)
  }

  /// The number of bytes of payload that may be dropped on their way here.
  var skippable: Int { reader.skippable }

  /// Accepts payload that was dropped on its way here, and returns the lines to send.
  mutating func skip(_ count: Int, at now: Duration, _ isWritable: Bool) -> String {
    reader.skip(count)
    return report(at: now, isWritable)
  }

  private mutating func report(at now: Duration, _ isWritable: Bool) -> String {
    guard reports, isWritable, lastReport.map({ now - $0 >= Self.reportInterval }) ?? true else { return "" }
    lastReport = now
    return "TIME \((now - start).wholeNanoseconds) BYTES \(reader.total)\n"
  }
}
