/// Decides whether packets of a socket arrive so fast that it is better read less often, and several at once.
///
/// Waking a thread or a task costs several times as much as reading a packet. On a machine with few processors that
/// time is taken from bluetoothd and the other programs of the stream, so a socket whose packets arrive fast rests
/// after each reading. Nothing is lost by that: bluetoothd's socket holds 167 values of 244 bytes, more than a radio
/// sends during a rest. After a larger reading the socket does not rest: on a busy machine the thread may be scheduled
/// late, and the socket must hold what arrives until then. A single packet does not wait.
struct PacketBursts {
  /// The duration of a rest, in nanoseconds: less than the shortest connection interval (7.5 ms, Core Specification
  /// 6.B.4.5.1).
  static let rest = 5_000_000
  /// The distance between packets, in nanoseconds, below which they count for resting and above which against it.
  static let gap: Int64 = 4_000_000
  /// The score from which on a socket rests.
  static let enough = 16
  /// The number of packets in a reading from which on the socket does not rest: a fifth of what bluetoothd's holds.
  static let large = 33

  private var score = 0
  private var count = 0
  private var last = Int64.min / 2

  /// A Boolean value that indicates whether the socket must rest now.
  var rests: Bool { isFast && count < Self.large }

  private var isFast: Bool { score == Self.enough }

  /// Records a reading.
  /// - Parameters:
  ///   - count: The number of packets.
  ///   - now: The nanoseconds of a clock that never goes back.
  mutating func read(_ count: Int, at now: Int64) {
    if isFast {
      // A rest for a single packet only cost time, which must stay rare for a peer that waits for each response.
      if count < 2 { score -= 8 }
    } else {
      score = now - last < Self.gap ? min(score + count, Self.enough) : max(score - 4, 0)
    }
    last = now
    self.count = count
  }
}
