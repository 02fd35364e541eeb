public import FoundationEssentials
public import Places

/// Everything about a loop that survives its program: the plan, the phase, the reference point and the history.
public struct LoopState: Sendable, Hashable, Codable {
  /// The phase of a loop between its first test and its end.
  public enum Phase: Sendable, Hashable, Codable {
    /// The next test is not due yet. It is after this many milliseconds on the clock of the previous one, and of another
    /// test than a repetition also by distance.
    case waiting(dueMs: Int64, isRetry: Bool)
    /// The next test is due, and waits until somebody is at the machine.
    case ready(LoopTrigger)
    /// The newest test of the history runs.
    case testing
    /// The newest test of the history is being aborted, for this reason; the loop waits for its end.
    case aborting(LoopOutcome.Status)
    /// The loop is over, and nothing follows.
    case finished(LoopEnding)
  }

  /// The identifier of the loop, which the program has made.
  public let id: UUID
  /// The size of the loop.
  public let plan: LoopPlan
  /// The wall-clock time at which the loop was started, in milliseconds since 1970.
  public let startMs: Int64
  /// The phase of the loop.
  public internal(set) var phase: Phase
  /// The attempts of all tests, in the order in which they began.
  public internal(set) var history: [LoopTest]
  /// The place from which the movement counts; `nil` without a location that counts since the previous test began.
  public internal(set) var reference: Place?
  /// The time since the start of the newest test.
  var stopwatch: LoopStopwatch?
  var notices: LoopNotices

  /// Creates the state of a loop that begins.
  public init(id: UUID, plan: LoopPlan, at now: LoopInstant) {
    self.id = id
    self.plan = plan
    startMs = now.wallMs
    phase = .ready(.first)
    history = []
    notices = LoopNotices()
  }

  /// The number of tests that have begun; a repetition is not counted again.
  public var counter: Int { history.last?.number ?? 0 }

  /// The reason that the loop is over; `nil` while it is not.
  public var ending: LoopEnding? { if case .finished(let ending) = phase { ending } else { nil } }

  /// The newest test, if it has not ended.
  public var running: LoopTest? { history.last.flatMap { $0.outcome == nil ? $0 : nil } }

  /// Returns whether something has changed that has to be stored; mere readings of the clocks have not.
  func isStored(as other: LoopState) -> Bool {
    var copy = other
    if let mine = stopwatch, let its = other.stopwatch, mine.hasSameStart(as: its) { copy.stopwatch = mine }
    if let mine = notices.last, let its = other.notices.last, mine.hasSameStart(as: its) { copy.notices.last = mine }
    return self == copy
  }

  /// A Boolean value that indicates whether the parts fit together, as they come from a file.
  var isPlausible: Bool {
    guard plan.isPlausible, stopwatch?.isPlausible ?? true, notices.isPlausible,
      history.count <= 2 * plan.tests, history.allSatisfy(\.isPlausible), counter <= plan.tests,
      startMs.magnitude < 1 << 52, (stopwatch == nil) == history.isEmpty,
      history.dropLast().allSatisfy({ $0.outcome != nil })
    else { return false }
    let hasRunning = running != nil
    switch phase {
    case .waiting(let dueMs, let isRetry):
      let isDue = (0...LoopStopwatch.longest).contains(dueMs)
      return !hasRunning && !history.isEmpty && isDue && canBegin(isRetry: isRetry)
    case .ready(let trigger): return !hasRunning && canBegin(isRetry: trigger == .retry)
    case .testing, .aborting: return hasRunning
    case .finished: return !hasRunning
    }
  }

  private func canBegin(isRetry: Bool) -> Bool {
    isRetry ? history.last?.attempt == 1 : counter < plan.tests
  }
}

/// The reason that a loop is over.
public enum LoopEnding: String, Sendable, Hashable, Codable, CaseIterable {
  /// All tests of the loop have run.
  case completed
  /// A user has ended the loop.
  case stopped
}

/// The notifications of a loop, and the answers to them.
struct LoopNotices: Sendable, Hashable, Codable {
  /// The time since the newest notification.
  var last: LoopStopwatch?
  /// The notifications in a row that brought nobody to the machine.
  var ignored = 0

  /// The number of doublings after which the pause between notifications grows no more.
  private static let doublings = 6
  /// The longest pause between two notifications: a day.
  private static let longestPause: Int64 = 86_400_000

  /// The shortest pause after the newest notification: the delay of the loop, doubled for each one without an answer
  /// after the first.
  func pause(_ plan: LoopPlan) -> Int64 {
    min(plan.delayMs << Int64(min(max(ignored - 1, 0), Self.doublings)), max(Self.longestPause, plan.delayMs))
  }

  /// Returns the milliseconds until a notification may be shown.
  mutating func wait(_ plan: LoopPlan, at now: LoopInstant) -> Int64 {
    let sinceLast = last == nil ? Int64.max : last?.read(at: now) ?? 0
    return max(last == nil ? 0 : pause(plan) - sinceLast, plan.nightHours?.left(at: now) ?? 0, 0)
  }

  var isPlausible: Bool { (0...1 << 20).contains(ignored) && last?.isPlausible ?? true }
}
