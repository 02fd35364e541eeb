/// A level meter as a bar: it rises at once, falls by 20 dB/s, and marks the peak of the last 2 s.
struct LevelMeter: Sendable {
  /// The left end of the bar, in dBFS; the right end is 0 dBFS.
  static let softest = -60.0
  private static let fall = 20.0
  private static let hold = Duration.seconds(2)
  /// The characters of a cell that is filled from the left, in eighths.
  private static let eighths = [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

  private(set) var level = Self.softest
  private(set) var peak = Self.softest
  private var peakAt = Duration.zero
  private var lastAt = Duration.zero

  /// Records the current level, in dBFS.
  mutating func note(_ decibels: Double, at instant: Duration) {
    let fallen = level - Self.fall * ((instant - lastAt) / .seconds(1))
    level = max(decibels, fallen, Self.softest)
    lastAt = instant
    if level >= peak || instant - peakAt > Self.hold {
      peak = level
      peakAt = instant
    }
  }

  /// Returns the bar with a width in cells.
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
