/// How long to wait before what has failed is tried again: longer each time, up to a limit, and never all at once.
public struct RetryDelays: Sendable, Hashable {
  /// The first delay: 1 s.
  public var base: Duration = .seconds(1)
  /// The longest: 1 min.
  public var limit: Duration = .seconds(60)

  /// Makes the usual delays.
  public init() {}

  /// The delay after some failures.
  /// - Parameters:
  ///   - failures: in a row, 1 or more.
  ///   - random: 0 to 1. Half of the delay depends on it, so that machines that failed together do not come back so.
  func delay(afterFailures failures: Int, random: Double) -> Duration {
    // Beyond 20 doublings every sensible limit is reached, and a duration may overflow.
    let full = min(limit, base * (1 << min(max(failures - 1, 0), 20)))
    return full / 2 + full / 2 * min(max(random, 0), 1)
  }
}
