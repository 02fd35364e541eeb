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
    let time = (now - start).wholeNanoseconds
    var text = ""
    if reports, isWritable, lastReport.map({ now - $0 >= Self.reportInterval }) ?? true {
      lastReport = now
      text = "TIME \(time) BYTES \(reader.total)\n"
    }
    return (isLast ? text + "TIME \(time)\n" : text, isLast)
  }
}
