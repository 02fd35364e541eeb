public import Timing

/// The numbers of the schedule, which all senders share.
///
/// A sender with other numbers stands out, so that ``usual`` is right for everybody who sends to the same server; a test
/// takes shorter ones.
///
/// ```swift
/// var policy = SendingPolicy.usual
/// policy.minimumInterval = .seconds(10)
/// ```
public struct SendingPolicy: Sendable, Hashable {
  /// The number of messages that a run sends, whatever the queue contains: 2.
  public var messagesPerRun = 2
  /// The shortest time between the starts of two completed runs: an hour.
  public var minimumInterval = Duration.seconds(3600)
  /// The random delay before the next tick.
  public var delay = RandomDelay.usual
  /// The time that a start adds to its random delay: 10 minutes.
  public var failsafe = Duration.seconds(600)
  /// The delays after failed runs: 10 minutes, doubled from failure to failure up to 300 minutes.
  public var backoff = Backoff(base: .seconds(600), limit: .seconds(18_000))

  /// The policy that all senders share.
  public static let usual = SendingPolicy()

  /// The longest time for which the schedule ever waits.
  var longestWait: Duration { max(.seconds(delay.range.upperBound) + failsafe, backoff.limit) }

  /// Returns whether the time since the last completed run permits a run.
  ///
  /// All three are instants of the wall clock. A last run in the future means that the clock was set back since then; the
  /// run is then permitted, and corrects the record. A clock that was set forward needs no rule of its own.
  /// - Parameters:
  ///   - now: The present instant, in milliseconds since 1970.
  ///   - lastRun: The start of the last completed run; `nil` if there was none.
  ///   - minimum: The shortest time between two runs; a run after exactly that time is permitted.
  public static func shouldExecute(now: Int64, lastRun: Int64?, minimum: Duration) -> Bool {
    guard let lastRun, lastRun <= now else { return true }
    return now.subtractingClamped(lastRun) >= minimum.milliseconds(rounded: .up)
  }
}
