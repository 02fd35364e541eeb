internal import Timing

extension LoopState {
  /// The duration of a test before any has run: two pretests, two directions and the round trips.
  private static let assumedTest: Int64 = 20_000
  /// The number of intervals, the newest ones, that the estimate is computed from.
  private static let observed = 10
  /// The longest time that is computed with, in milliseconds: 35 years. A file may contain any number.
  private static let longest: Int64 = 1 << 40

  private static func bounded(_ milliseconds: Int64) -> Int64 { min(max(milliseconds, 0), longest) }

  /// Returns the estimated time to the end of the whole loop, if somebody is at the machine whenever a test is due.
  ///
  /// It is the time to the next test, the mean interval of the newest tests for each later one (the delay before there are
  /// any), and the mean duration of a test.
  /// - Returns: `nil` for a loop that is over.
  public func estimate(at now: LoopInstant) -> Duration? {
    guard ending == nil else { return nil }
    let left = Int64(plan.tests - counter)
    var stopwatch = stopwatch
    let elapsed = Self.bounded(stopwatch?.read(at: now) ?? 0)
    switch phase {
    case .waiting(let dueMs, let isRetry):
      // A repetition does not count as a test of its own, and the tests after it still wait.
      let later = isRetry ? left : left - 1
      return .milliseconds(max(Self.bounded(dueMs) - elapsed, 0) + later * interval + testTime)
    case .ready(let trigger):
      return .milliseconds((trigger == .retry ? left : left - 1) * interval + testTime)
    case .testing, .aborting:
      return .milliseconds(
        left == 0 ? max(testTime - elapsed, 0) : max(interval - elapsed, 0) + (left - 1) * interval + testTime)
    case .finished: return nil
    }
  }

  /// The mean duration of the completed tests.
  private var testTime: Int64 {
    let times = history.filter { $0.outcome?.status == .completed }.compactMap(\.durationMs).map(Self.bounded)
      .suffix(Self.observed)
    return times.isEmpty ? Self.assumedTest : times.reduce(0, +) / Int64(times.count)
  }

  /// The mean time between the starts of two tests.
  private var interval: Int64 {
    let delay = Self.bounded(plan.delayMs)
    let starts = history.filter { $0.attempt == 1 }.map(\.startMs)
    // Others are clock jumps, or times in which the machine was off or nobody there.
    let likely = zip(starts, starts.dropFirst()).map { $1.subtractingClamped($0) }
      .filter { $0 > 0 && $0 <= 2 * delay }.suffix(Self.observed)
    return likely.isEmpty ? delay : likely.reduce(0, +) / Int64(likely.count)
  }
}
