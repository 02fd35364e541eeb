import Glibc

/// A random delay between two looks at the schedule: an exponential draw, cut to whole seconds and then clamped.
///
/// The clamp makes the distribution uneven on purpose: with the usual values 39 % of all delays have exactly 300 s, and
/// the mean is 664 s. Everybody who sends must use the same values; a different distribution tells one sender from the
/// others.
///
/// ```swift
/// let delay = RandomDelay.usual.delay(at: 0.9)  // 1381 s
/// ```
public struct RandomDelay: Sendable, Hashable {
  /// The mean of the exponential distribution before the clamp, in seconds.
  public let mean: Int
  /// The shortest and the longest delay, in seconds.
  public let range: ClosedRange<Int>

  /// The distribution that all senders share: a mean of 600 s, 300 s to 7200 s.
  public static let usual = RandomDelay(uncheckedMean: 600, range: 300...7200)

  /// Creates a distribution from its mean and bounds.
  /// - Parameters:
  ///   - mean: The mean before the clamp, 1 s or more.
  ///   - range: The shortest and the longest delay, 0 s or more.
  /// - Returns: `nil` for a mean or a delay outside of these limits.
  public init?(mean: Int, range: ClosedRange<Int>) {
    guard mean > 0, range.lowerBound >= 0 else { return nil }
    self.init(uncheckedMean: mean, range: range)
  }

  private init(uncheckedMean mean: Int, range: ClosedRange<Int>) {
    self.mean = mean
    self.range = range
  }

  /// Returns the delay for a number that is drawn uniformly from 0 up to, but not including, 1.
  /// - Parameter uniform: The number drawn; one outside of the range counts as the nearest number inside.
  public func delay(at uniform: Double) -> Duration { .seconds(seconds(at: uniform)) }

  func seconds(at uniform: Double) -> Int {
    // 1 itself would be an infinite delay. The comparison is false for a NaN, too.
    let inside = uniform >= 0 ? min(uniform, 1.0.nextDown) : 0
    let drawn = -Double(mean) * log(1 - inside)
    guard drawn < Double(range.upperBound) else { return range.upperBound }
    return max(Int(drawn), range.lowerBound)
  }
}
