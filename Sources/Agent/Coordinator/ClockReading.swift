import Timing

/// An instant by all three clocks.
struct ClockReading: Sendable {
  /// The time by the agent's clock.
  var now: Duration
  /// The time by the wall clock, in milliseconds since 1970.
  var wallMs: Int64
  /// The time since the boot of the machine.
  var boot: BootInstant
}
