internal import Timing

/// The size of a loop: the number of its tests, the wait between two of them, and who is asked before one.
public struct LoopPlan: Sendable, Hashable, Codable {
  /// The number of tests in the loop.
  public let tests: Int
  /// The time from the start of one test to the start of the next one.
  public var delay: Duration { .milliseconds(delayMs) }
  /// The distance in metres from the place of the previous test that starts the next one earlier; `nil` for time alone.
  public let movement: Double?
  /// A Boolean value that indicates whether tests run without anybody at the machine, as on a board without a seat.
  public let isUnattended: Bool
  /// The local hours in which no notification is shown; `nil` for none.
  public let nightHours: LoopNightHours?

  let delayMs: Int64
  let retryMs: Int64

  /// The allowed numbers of tests.
  public static let allowedTests = 1...500
  /// The allowed delays: 5 minutes to 24 hours.
  public static let allowedDelays = Duration.seconds(300)...Duration.seconds(86_400)
  /// The allowed distances in metres.
  public static let allowedMovements = 25.0...10_000.0

  /// Creates a plan for a loop.
  /// - Parameters:
  ///   - tests: The number of tests, in ``allowedTests``.
  ///   - delay: The time from the start of one test to that of the next one, in ``allowedDelays``.
  ///   - movement: The distance in metres that starts a test earlier, in ``allowedMovements``; `nil` for time alone.
  ///   - isUnattended: `true` for tests that run without anybody at the machine.
  ///   - nightHours: The local hours in which no notification is shown.
  /// - Throws: ``SpeedTestError`` with code `.invalidArgument` for a number out of its range.
  public init(
    tests: Int = 50, delay: Duration = .seconds(900), movement: Double? = 250, isUnattended: Bool = false,
    nightHours: LoopNightHours? = nil
  ) throws(SpeedTestError) {
    guard Self.allowedDelays.contains(delay) else {
      throw SpeedTestError(
        .invalidArgument, "the delay is \(delay.inSeconds / 60) minutes; allowed: 5 to 1440 minutes")
    }
    try self.init(
      tests: tests, anyDelay: delay, movement: movement, isUnattended: isUnattended, nightHours: nightHours)
  }

  /// Creates a plan whose delays may be shorter than the allowed ones, for tests.
  package init(
    tests: Int, anyDelay delay: Duration, retryDelay: Duration = .seconds(60), movement: Double? = nil,
    isUnattended: Bool = false, nightHours: LoopNightHours? = nil
  ) throws(SpeedTestError) {
    guard Self.allowedTests.contains(tests) else {
      throw SpeedTestError(.invalidArgument, "the number of tests is \(tests); allowed: 1 to 500")
    }
    guard delay > .zero, delay <= Self.allowedDelays.upperBound else {
      throw SpeedTestError(.invalidArgument, "the delay is \(delay.inSeconds) s; allowed: 5 to 1440 minutes")
    }
    if let movement, !Self.allowedMovements.contains(movement) {
      throw SpeedTestError(.invalidArgument, "the movement is \(movement) m; allowed: 25 to 10000 m")
    }
    self.tests = tests
    delayMs = delay.milliseconds(rounded: .up)
    retryMs = retryDelay.milliseconds(rounded: .up)
    self.movement = movement
    self.isUnattended = isUnattended
    self.nightHours = nightHours
  }

  /// The largest error in metres of a location that counts: half of the movement, but 25 m to 100 m.
  ///
  /// Under an open sky gpsd estimates an error of 19 m, which most locations are far from.
  public var largestError: Double { min(max((movement ?? 0) / 2, 25), 100) }

  var isPlausible: Bool {
    Self.allowedTests.contains(tests) && delayMs > 0 && (0...86_400_000).contains(retryMs)
      && delay <= Self.allowedDelays.upperBound
      && movement.map(Self.allowedMovements.contains) ?? true && nightHours?.isPlausible ?? true
  }
}

/// The local hours in which a user wants no notification; they may include midnight.
///
/// ```swift
/// let night = try LoopNightHours(from: 22 * 60, to: 7 * 60)
/// print(night.contains(minute: 30))  // true: half past midnight
/// ```
public struct LoopNightHours: Sendable, Hashable, Codable {
  /// The first minute after local midnight, 0 to 1439.
  public let from: Int
  /// The minute after local midnight at which they end, 0 to 1439.
  public let to: Int

  /// Creates hours from two minutes after local midnight.
  /// - Throws: ``SpeedTestError`` with code `.invalidArgument` for a minute out of 0 to 1439, or two equal ones.
  public init(from: Int, to: Int) throws(SpeedTestError) {
    self.from = from
    self.to = to
    guard isPlausible else {
      throw SpeedTestError(
        .invalidArgument, "the night hours are \(from) to \(to) minutes; allowed: two different ones in 0 to 1439")
    }
  }

  /// Returns `true` if a minute after local midnight is one of the night hours.
  public func contains(minute: Int) -> Bool {
    from < to ? (from..<to).contains(minute) : minute >= from || minute < to
  }

  var isPlausible: Bool { (0..<1440).contains(from) && (0..<1440).contains(to) && from != to }

  /// Returns the milliseconds until the night hours end; 0 outside of them.
  func left(at now: LoopInstant) -> Int64 {
    let ms = now.msOfDay
    guard contains(minute: Int(ms / 60_000)) else { return 0 }
    let end = Int64(to) * 60_000
    return end > ms ? end - ms : end + 86_400_000 - ms
  }
}
