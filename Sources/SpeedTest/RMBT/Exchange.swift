/// A command of the client with everything that belongs to it, up to the server's next ACCEPT line.
package enum Exchange: Sendable, Hashable {
  /// The download of a number of chunks of a size in bytes.
  case getChunks(Int, size: Int)
  /// The download of chunks of a size in bytes for some seconds.
  case getTime(seconds: Int, size: Int)
  /// The upload of a number of chunks of a size in bytes, without reports.
  case putNoResult(Int, size: Int)
  /// The upload of chunks of a size in bytes for some seconds, with reports.
  case put(seconds: Int, size: Int)
  /// One round trip.
  case ping

  /// The line that starts the exchange.
  package var command: ClientLine {
    switch self {
    case .getChunks(let count, let size): .getChunks(count, size: size)
    case .getTime(let seconds, let size): .getTime(seconds, size: size)
    case .putNoResult(_, let size): .putNoResult(size: size)
    case .put(_, let size): .put(size: size)
    case .ping: .ping
    }
  }

  /// The name for errors.
  package var name: String { String(command.text.prefix { $0 != " " }) }
}

/// The bytes that had been transferred at an instant.
public struct ThroughputSample: Sendable, Hashable {
  /// The nanoseconds since the start of the direction's test.
  public var nanoseconds: UInt64
  /// The bytes transferred from the start up to that instant.
  public var bytes: UInt64

  /// Creates a sample from an instant and the bytes up to it.
  public init(nanoseconds: UInt64, bytes: UInt64) {
    self.nanoseconds = nanoseconds
    self.bytes = bytes
  }
}

/// The outcome of an exchange.
package struct ExchangeReport: Sendable, Hashable {
  /// The exchange that is over.
  package var exchange: Exchange
  /// The instant at which the client's part started.
  package var start: Duration
  /// The time from the start to the last byte, or to the PONG, by the client's clock.
  package var clientTime: Duration = .zero
  /// The time that the server measured; `nil` when the exchange was cut off.
  package var serverTime: UInt64?
  /// The payload in bytes.
  package var bytes: UInt64 = 0
  /// The bytes over time: by the client's clock for a download, by the server's for an upload.
  package var samples: [ThroughputSample] = []

  /// A Boolean value that indicates whether the exchange ended as the protocol says, so that the connection is usable.
  package var isComplete: Bool { serverTime != nil }

  init(_ exchange: Exchange, start: Duration) {
    self.exchange = exchange
    self.start = start
  }
}

/// Payload that is to be sent next.
package struct Payload: Sendable, Hashable {
  /// The size of a chunk in bytes.
  package var size: Int
  /// The number of chunks that are followed by others.
  package var count: Int
  /// A Boolean value that indicates whether the last chunk follows them.
  package var endsWithLast: Bool

  /// The chunks that fit about 64 KiB, at least one: few enough to look at the clock often.
  static func batch(of size: Int) -> Int { max(1, 65_536 / size) }

  /// Returns the next ones of chunks of which so many are left, the last one included.
  static func next(of size: Int, left: Int) -> Payload {
    let batch = batch(of: size)
    let plain = min(left - 1, batch)
    return Payload(size: size, count: plain, endsWithLast: plain < batch)
  }

  /// The number of bytes.
  package var bytes: Int { (count + (endsWithLast ? 1 : 0)) * size }
}
