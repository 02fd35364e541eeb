/// A bar that shows how loud it is: up at once, down by 20 dB a second, with a mark at the loudest of the last two seconds.
struct LevelMeter: Sendable {
  /// The left end of the bar, in dB of full scale; the right end is 0.
  static let softest = -60.0
  private static let fall = 20.0
  private static let hold = Duration.seconds(2)
  /// A cell is filled from the left, by eighths.
  private static let eighths = [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

  private(set) var level = Self.softest
  private(set) var peak = Self.softest
  private var peakAt = Duration.zero
  private var lastAt = Duration.zero

  /// Takes how loud it is now, in dB of full scale.
  mutating func note(_ decibels: Double, at instant: Duration) {
    let fallen = level - Self.fall * ((instant - lastAt) / .seconds(1))
    level = max(decibels, fallen, Self.softest)
    lastAt = instant
    if level >= peak || instant - peakAt > Self.hold { (peak, peakAt) = (level, instant) }
  }

  /// The bar, so many cells wide.
  func bar(_ width: Int) -> String {
    let filled = Int(Self.share(level) * Double(width * 8))
    var cells = (0..<width).map { cell in
      let eighths = min(max(filled - cell * 8, 0), 8)
      return eighths == 8 ? "█" : Self.eighths[eighths]
    }
    let mark = min(Int(Self.share(peak) * Double(width)), width - 1)
    if peak > Self.softest, cells[mark] == " " { cells[mark] = "│" }
    return cells.joined()
  }

  private static func share(_ decibels: Double) -> Double { min(max(1 - decibels / softest, 0), 1) }
}

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
