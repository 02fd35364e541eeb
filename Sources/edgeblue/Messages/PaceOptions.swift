import ArgumentParser
import MessageSending
import Timing

/// The hidden option that makes all clocks of a sender faster, for tests of the program.
struct PaceOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The factor by which all clocks are faster, for tests.", visibility: .hidden)) var pace = 1

  func validate() throws {
    try checkRange(of: "--pace", pace, 1...1_000_000)
  }

  /// The settings of a sender, with these clocks.
  var senderOptions: MessageSender.Options {
    var options = MessageSender.Options()
    if pace > 1 {
      options.clock = SendingClock(time: TimeSource(PacedClock(pace: pace)), wall: PacedClock.wall(pace: pace))
      options.attemptLimit = options.attemptLimit * pace
    }
    return options
  }
}

/// A clock that runs faster than the system's, for tests of the program.
struct PacedClock: Clock {
  let pace: Int

  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private static let origin = ContinuousClock.now

  var now: Instant { Instant(offset: Self.origin.duration(to: .now) * pace) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await SteadyClock().sleep(until: Self.origin + deadline.offset / pace, tolerance: tolerance)
  }

  /// Returns a wall clock that runs at this pace from 2026 on.
  static func wall(pace: Int) -> @Sendable () -> Int64 {
    let origin: Int64 = 1_767_225_600_000
    return { origin + (WallClock.unixMilliseconds() - origin) * Int64(pace) }
  }
}
