/// Delays between retries that double from failure to failure up to a limit, with jitter.
///
/// Jitter keeps machines that failed together from coming back together. It multiplies each delay by a factor from a
/// range, so that `0.5...1` shortens a delay by up to a half and `0.9...1.1` varies it by ±10 %.
///
/// ```swift
/// let backoff = Backoff(base: .seconds(1), limit: .seconds(30), jitter: 0.9...1.1)
/// let delay = backoff.delay(afterFailures: 3, random: .random(in: 0...1))  // 3.6 s to 4.4 s
/// ```
public struct Backoff: Sendable, Hashable {
  /// The delay after the first failure, before jitter.
  public var base: Duration
  /// The longest delay, before jitter.
  public var limit: Duration
  /// The range of the factor that each delay is multiplied by.
  public var jitter: ClosedRange<Double>

  /// Creates a back-off with its delays.
  /// - Parameters:
  ///   - base: The delay after the first failure, before jitter.
  ///   - limit: The longest delay, before jitter.
  ///   - jitter: The range of the factor that each delay is multiplied by; `1...1` for none.
  public init(base: Duration, limit: Duration, jitter: ClosedRange<Double> = 1...1) {
    self.base = base
    self.limit = limit
    self.jitter = jitter
  }

  /// Returns the delay after a number of failures in a row.
  /// - Parameters:
  ///   - failures: The number of failures; less than 1 counts as 1.
  ///   - random: The place within the jitter's range, 0 to 1; injected, so that tests are repeatable.
  public func delay(afterFailures failures: Int, random: Double) -> Duration {
    // Beyond 30 doublings every sensible limit is reached, and a duration may overflow.
    let full = min(limit, base * (1 << min(max(failures, 1) - 1, 30)))
    return full * (jitter.lowerBound + (jitter.upperBound - jitter.lowerBound) * min(max(random, 0), 1))
  }
}
