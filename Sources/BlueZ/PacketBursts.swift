/// Tells whether packets come so fast that their reader is better woken for several at once.
///
/// Waking a task costs several times what reading a packet does. Where processors are few that time is taken from
/// bluetoothd and from whoever empties its sockets, so packets that come fast are let gather, in this program's memory.
/// A packet that comes alone does not wait.
struct PacketBursts {
  /// How long packets may gather, in nanoseconds: less than the shortest connection interval (7.5 ms, Core
  /// Specification 6.B.4.5.1).
  static let patience = 5_000_000
  /// Packets nearer to each other than this, in nanoseconds, count for gathering, others against it.
  static let gap: Int64 = 4_000_000
  /// The score at which packets are let gather.
  static let enough = 16

  private var score = 0
  private var last = Int64.min / 2
  private var gathered = 0

  /// Whether the reader is to be woken later.
  var isGathering: Bool { score == Self.enough }

  /// Takes note of packets that were read.
  /// - Parameter now: nanoseconds of a clock that only goes forward.
  mutating func read(_ count: Int, at now: Int64) {
    score = now - last < Self.gap ? min(score + 1, Self.enough) : max(score - 4, 0)
    last = now
    gathered += count
  }

  /// Takes note that the reader was woken.
  mutating func told() {
    // Waiting for nothing only cost time: whoever waits for an answer to each packet must not meet that often.
    if isGathering, gathered < 2 { score -= 8 }
    gathered = 0
  }
}
