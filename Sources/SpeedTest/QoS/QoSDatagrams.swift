/// The datagrams of the UDP tests: the kind in one byte, the sequence number in one, a UUID of 36 characters, and a time.
package enum QoSDatagram {
  /// The first byte of a datagram that requests a reply.
  package static let request: UInt8 = 3
  /// The first byte of a reply.
  package static let reply: UInt8 = 2
  /// The length of the part before the time.
  static let headLength = 38
  /// The number of datagrams whose sequence numbers differ.
  package static let sequences = 256

  /// Returns a datagram that requests a reply.
  /// - Parameters:
  ///   - sequence: The sequence number.
  ///   - uuid: The UUID of the test, 36 characters.
  ///   - milliseconds: The present time in milliseconds since 1970.
  package static func make(_ sequence: UInt8, uuid: String, milliseconds: Int64) -> [UInt8] {
    [request, sequence] + Array(uuid.utf8.prefix(36)) + Array("\(milliseconds)".utf8)
  }

  /// Returns the sequence number of a datagram that the server sends in its run; `nil` for another one.
  package static func sequence(ofRequest bytes: [UInt8]) -> UInt8? {
    bytes.count > headLength && bytes[0] == request ? bytes[1] : nil
  }

  /// Returns the reply to a datagram: its payload behind another first byte, so that the server finds its own time in it.
  package static func echo(_ bytes: [UInt8]) -> [UInt8] { [reply] + bytes.dropFirst() }
}

/// The count of a run of datagrams to a server that returns them.
package struct DatagramTally: Sendable {
  /// A datagram that came back.
  package struct Echo: Sendable, Hashable {
    var sequence: Int
    var sent: Duration
    var received: Duration
  }

  private var sent: [[UInt8]: (sequence: Int, at: Duration)] = [:]
  private var echoed: Set<Int> = []
  /// The datagrams that came back, each once, in the order of their arrival.
  package private(set) var echoes: [Echo] = []
  /// The number of datagrams that came back more than once; they end no test.
  package private(set) var duplicates = 0

  package init() {}

  /// The number of datagrams that were sent.
  package var sentCount: Int { sent.count }

  /// Notes a datagram that was sent.
  package mutating func sent(_ bytes: [UInt8], at now: Duration) {
    sent[Array(bytes.dropFirst())] = (sent.count, now)
  }

  /// Accepts a datagram; one that is no reply to one of this run is ignored.
  package mutating func receive(_ bytes: [UInt8], at now: Duration) {
    guard bytes.first == QoSDatagram.reply, let original = sent[Array(bytes.dropFirst())] else { return }
    guard echoed.insert(original.sequence).inserted else {
      duplicates += 1
      return
    }
    echoes.append(Echo(sequence: original.sequence, sent: original.at, received: now))
  }

  /// A Boolean value that indicates whether all of them came back.
  package func isComplete(of count: Int) -> Bool { echoes.count >= count }
}

/// The quality of a stream of datagrams in the rhythm of a call, from those that came back.
package struct CallQuality: Sendable, Hashable {
  /// The part of the datagrams that did not come back, 0 to 1.
  package let loss: Double
  /// The mean and the largest jitter by RFC 3550, in nanoseconds.
  package let meanJitter: UInt64
  package let maxJitter: UInt64
  /// The longest time between two arrivals, in nanoseconds.
  package let maxDelta: UInt64
  /// The difference between the duration of the arrivals and that of the departures, in nanoseconds.
  package let skew: Int64
  /// The number of datagrams that arrived behind a later one.
  package let sequenceErrors: Int
  /// The shortest and the longest run of datagrams without a gap.
  package let shortestRun: Int
  package let longestRun: Int

  /// The largest loss of a call that people understand without effort.
  package static let tolerableLoss = 0.05
  /// The largest mean jitter that the buffer of a telephone evens out, in nanoseconds.
  package static let tolerableJitter: UInt64 = 50_000_000

  /// Computes the quality.
  /// - Parameters:
  ///   - echoes: The datagrams that came back, in the order of their arrival.
  ///   - sent: The number of datagrams that were sent.
  package init(_ echoes: [DatagramTally.Echo], sent: Int) {
    loss = sent > 0 ? 1 - Double(min(echoes.count, sent)) / Double(sent) : 1
    var jitter = 0.0
    var jitters: [Double] = []
    var longest = Duration.zero
    var runs = echoes.isEmpty ? [] : [1]
    var errors = 0
    for (before, after) in zip(echoes, echoes.dropFirst()) {
      let arrival = after.received - before.received
      let difference = Double((arrival - (after.sent - before.sent)).nanosecondsSigned.magnitude)
      jitter += (difference - jitter) / 16
      jitters.append(jitter)
      longest = max(longest, arrival)
      if after.sequence < before.sequence { errors += 1 }
      if after.sequence == before.sequence + 1 { runs[runs.count - 1] += 1 } else { runs.append(1) }
    }
    meanJitter = jitters.isEmpty ? 0 : UInt64(jitters.reduce(0, +) / Double(jitters.count))
    maxJitter = UInt64(jitters.max() ?? 0)
    maxDelta = UInt64(max(0, longest.nanosecondsSigned))
    sequenceErrors = errors
    shortestRun = runs.min() ?? 0
    longestRun = runs.max() ?? 0
    if let first = echoes.first, let last = echoes.last {
      skew = ((last.received - first.received) - (last.sent - first.sent)).nanosecondsSigned
    } else {
      skew = 0
    }
  }

  /// A Boolean value that indicates whether a call over this line is understood without effort.
  package var isTolerable: Bool { loss <= Self.tolerableLoss && meanJitter <= Self.tolerableJitter }
}

extension Duration {
  /// The nanoseconds, at most those of a century in either direction.
  fileprivate var nanosecondsSigned: Int64 {
    let (seconds, attoseconds) = components
    let limit: Int64 = 3_000_000_000
    return min(max(seconds, -limit), limit) * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
