/// Tells whether packets come so fast that they are better read several at once.
///
/// Waking a thread costs as much as reading a packet, and waking a task several times that. Where processors are few
/// the time is taken from bluetoothd, so packets that come fast are let gather: a little in their sockets, and then in
/// this program's memory. A packet that comes alone does not wait.
struct PacketBursts {
  /// How long packets may gather in all, in nanoseconds: less than the shortest connection interval (7.5 ms, Core
  /// Specification 6.B.4.5.1). `poll` counts milliseconds, so that it may be one more.
  static let patience: Int64 = 5_000_000
  /// How long of that they may gather in their sockets, where bluetoothd drops what finds no room: the 168th packet of
  /// 244 bytes. A link at 2 Mbit/s carries 3 or 4 in that time, and bluetoothd hands on fewer than 167 after it was held
  /// up.
  static let rest: Int64 = 2_000_000
  /// Packets nearer to each other than this, in nanoseconds, count for gathering, others against it.
  static let gap: Int64 = 1_500_000
  /// The score at which packets are let gather.
  static let enough = 16

  private var score = 0
  private var last = Int64.min / 2

  /// Whether packets are to wait a little.
  var isGathering: Bool { score == Self.enough }

  /// Takes note of packets that were read at once.
  /// - Parameters:
  ///   - count: how many, 1 or more.
  ///   - now: nanoseconds of a clock that only goes forward.
  mutating func read(_ count: Int, at now: Int64) {
    let pause = now - last
    last = now
    guard pause >= Self.gap * Int64(count) else {
      score = min(score + 1, Self.enough)
      return
    }
    // One that waited alone waited in vain: whoever waits for an answer to each packet must not meet that often.
    let waitedInVain = isGathering && pause < 2 * Self.rest
    score = max(score - (waitedInVain ? 12 : 4), 0)
  }
}
