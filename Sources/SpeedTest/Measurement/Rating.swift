/// The class of a result, from very good to poor.
public enum SpeedTestRating: Int, Sendable, Hashable, Comparable, CaseIterable {
  /// The lowest of the four classes.
  case poor = 1
  /// The second-lowest of the four classes.
  case fair = 2
  /// The second-highest of the four classes.
  case good = 3
  /// The highest of the four classes.
  case veryGood = 4

  /// Returns `true` if the first class is the lower one.
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

  /// Returns the class of a download: 100, 10 and 5 Mbit/s are the lowest rates of the upper three.
  public static func download(_ bitsPerSecond: Double) -> Self { rate(bitsPerSecond, [100e6, 10e6, 5e6]) }

  /// Returns the class of an upload: 50, 5 and 2.5 Mbit/s are the lowest rates of the upper three.
  public static func upload(_ bitsPerSecond: Double) -> Self { rate(bitsPerSecond, [50e6, 5e6, 2.5e6]) }

  /// Returns the class of a median round trip: 10, 25 and 75 ms are the longest times of the upper three.
  public static func ping(nanoseconds: Double) -> Self { rate(-nanoseconds, [-10e6, -25e6, -75e6]) }

  private static func rate(_ value: Double, _ bounds: [Double]) -> Self {
    Self(rawValue: 4 - (bounds.firstIndex { value >= $0 } ?? 3)) ?? .poor
  }
}
