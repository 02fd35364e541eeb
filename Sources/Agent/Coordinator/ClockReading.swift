import Timing

/// One moment by all clocks there are.
struct ClockReading: Sendable {
  /// The agent's own clock.
  var now: Duration
  /// The wall clock: milliseconds since 1970, and whatever somebody sets it to.
  var wallMs: Int64
  /// The clock since the machine was started.
  var boot: BootInstant
}
