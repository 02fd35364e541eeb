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
    let batch = Payload.batch(of: size)
    switch end {
    case .afterChunks(let count):
      let plain = min(count - 1 - sent, batch)
      sent += plain
      return Payload(size: size, count: plain, endsWithLast: sent == count - 1)
    case .after(let duration):
      let isOver = now - start >= duration
      return Payload(size: size, count: isOver ? 0 : batch, endsWithLast: isOver)
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

/// The HTTP request that precedes the greeting in one variant of the protocol.
struct HTTPUpgrade: Sendable {
  enum Outcome: Sendable {
    case upgrade
    case upgradeRequired
    case methodNotAllowed
  }

  /// The largest header in bytes.
  static let limit = 8192

  private var lines = LineReader()
  private var request: String?
  private var isUpgrade = false
  private var count = 0

  /// Reads lines up to the end of the header; returns `nil` when it has not arrived.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) throws(SpeedTestError) -> Outcome? {
    while true {
      let before = offset
      let line = try lines.next(bytes, &offset)
      count += offset - before
      guard count <= Self.limit else {
        throw SpeedTestError(.invalidReply, "the HTTP header has more than \(Self.limit) bytes")
      }
      guard let line else { return nil }
      guard let request else {
        request = line
        continue
      }
      guard line.isEmpty else {
        let parts = line.split(separator: ":", maxSplits: 1).map { $0.lowercased().filter { $0 != " " } }
        isUpgrade = isUpgrade || parts == ["upgrade", "rmbt"]
        continue
      }
      guard request.hasPrefix("GET ") else { return .methodNotAllowed }
      return isUpgrade ? .upgrade : .upgradeRequired
    }
  }
}

extension HTTPUpgrade.Outcome {
  var response: String {
    switch self {
    case .upgrade: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: RMBT\r\n\r\n"
    case .upgradeRequired: Self.refusal("426 Upgrade Required")
    case .methodNotAllowed: Self.refusal("405 Method Not Allowed")
    }
  }

  private static func refusal(_ status: String) -> String {
    let body = "RMBT measurement server - RMBTv\(RMBT.version)\n"
    return "HTTP/1.1 \(status)\r\nContent-Type: text/plain\r\nContent-Length: \(body.utf8.count)\r\n"
      + "Connection: close\r\n\r\n\(body)"
  }
}
