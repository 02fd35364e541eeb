/// How many frames a second came, over the last two seconds.
struct FrameRate: Sendable {
  private static let span = Duration.seconds(2)
  private var counts: [(at: Duration, frames: Int)] = []

  /// Takes how many frames came so far.
  mutating func note(_ frames: Int, at instant: Duration) {
    // Fewer than before: another stream has begun.
    if let last = counts.last, frames < last.frames { counts.removeAll() }
    counts.append((instant, frames))
    // The last one that is old enough stays, to count from.
    while counts.count > 2, instant - counts[1].at >= Self.span { counts.removeFirst() }
  }

  /// `nil` until there is something to compare with.
  var perSecond: Double? {
    guard let first = counts.first, let last = counts.last, last.at > first.at else { return nil }
    return Double(last.frames - first.frames) / ((last.at - first.at) / .seconds(1))
  }
}
