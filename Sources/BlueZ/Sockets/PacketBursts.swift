/// Tells whether packets of a socket come so fast that it is better read less often, and several at once.
///
/// Waking a thread or a task costs several times what reading a packet does. Where processors are few that time is taken
/// from bluetoothd and from whoever else has a part in the stream, so a socket whose packets come fast rests after each
/// reading. Nothing is lost by that: bluetoothd's socket holds 167 values of 244 bytes, which no radio sends in a rest. A
/// packet that comes alone does not wait.
struct PacketBursts {
  /// How long a socket rests, in nanoseconds: less than the shortest connection interval (7.5 ms, Core Specification
  /// 6.B.4.5.1).
  static let rest = 5_000_000
  /// Packets nearer to each other than this, in nanoseconds, count for resting, others against it.
  static let gap: Int64 = 4_000_000
  /// The score at which a socket rests.
  static let enough = 16

  private var score = 0
  private var last = Int64.min / 2

  /// Whether the socket is to rest now.
  var rests: Bool { score == Self.enough }

  /// Takes note of a reading.
  /// - Parameters:
  ///   - count: how many packets there were.
  ///   - now: nanoseconds of a clock that only goes forward.
  mutating func read(_ count: Int, at now: Int64) {
    if rests {
      // A rest for one packet only cost time: whoever waits for an answer to each must not meet that often.
      if count < 2 { score -= 8 }
    } else {
      score = now - last < Self.gap ? min(score + count, Self.enough) : max(score - 4, 0)
    }
    last = now
  }
}
