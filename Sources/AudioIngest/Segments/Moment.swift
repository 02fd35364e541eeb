internal import Timing

/// An instant on a monotonic clock, with the wall-clock time at that instant.
///
/// ```swift
/// let arrival = Moment(instant: .milliseconds(20), wallMs: 1_795_308_300_020)
/// print(arrival.instant, arrival.wallMs)
/// ```
public struct Moment: Sendable, Hashable {
  /// The instant on a monotonic clock, as a duration since any fixed origin.
  public var instant: Duration
  /// The wall-clock time, in Unix milliseconds.
  public var wallMs: Int64

  /// Creates a moment from the readings of both clocks.
  public init(instant: Duration, wallMs: Int64) {
    self.instant = instant
    self.wallMs = wallMs
  }

  /// The present moment.
  package static var now: Moment {
    Moment(instant: TimeSource.continuous.now, wallMs: WallClock.unixMilliseconds())
  }
}
