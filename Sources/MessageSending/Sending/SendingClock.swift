public import Timing

/// The clocks and the randomness of the schedule.
///
/// Timers run on a clock that nobody sets and that goes on during suspend; decisions are made on the wall clock, because
/// a record on disk has to outlive the boot.
///
/// ```swift
/// let clock = SendingClock.system
/// print(clock.wall(), "ms since 1970")
/// ```
public struct SendingClock: Sendable {
  /// The clock of the timers.
  public var time: TimeSource
  /// The wall-clock time in milliseconds since 1970.
  public var wall: @Sendable () -> Int64
  /// The wall-clock time, in milliseconds since 1970, at which the host was started.
  public var boot: @Sendable () -> Int64 = { WallClock.unixMilliseconds() - BootInstant.system().atMs }
  /// A generator of numbers that are uniform from 0 up to, but not including, 1.
  public var random: @Sendable () -> Double

  /// Creates clocks; by default those of the machine, and a generator that is fit for keys. ``boot`` is the machine's.
  public init(
    time: TimeSource = .continuous, wall: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds,
    random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    self.time = time
    self.wall = wall
    self.random = random
  }

  /// The clocks of the machine, with the system's random generator.
  public static let system = SendingClock()
}
