/// The rate of received frames, over the last 2 s.
struct FrameRate: Sendable {
  private static let span = Duration.seconds(2)
  private var counts: [(at: Duration, frames: Int)] = []

  /// Records the number of frames received so far.
  mutating func note(_ frames: Int, at instant: Duration) {
    // Fewer than before: a new stream has started.
    if let last = counts.last, frames < last.frames { counts.removeAll() }
    counts.append((instant, frames))
    // The latest count that is old enough stays as the base.
    while counts.count > 2, instant - counts[1].at >= Self.span { counts.removeFirst() }
  }

  /// The frames per second; `nil` until there are two counts.
  var perSecond: Double? {
    guard let first = counts.first, let last = counts.last, last.at > first.at else { return nil }
    return Double(last.frames - first.frames) / ((last.at - first.at) / .seconds(1))
  }
}
