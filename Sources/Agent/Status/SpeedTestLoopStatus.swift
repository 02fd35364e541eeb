/// The status of the loop of speed tests that an agent carries.
///
/// The agent knows nothing of speed tests: the program that composes both reports the status.
///
/// ```swift
/// var loop = SpeedTestLoopStatus(state: "waiting", begun: 3, tests: 20)
/// loop.outcomes = ["completed": 3]
/// await runner.take(loop)
/// ```
public struct SpeedTestLoopStatus: Sendable, Hashable {
  /// The name of the state, such as `waiting`, `ready`, `testing` or `completed`; `none` without a loop.
  public var state: String
  /// The number of tests that have begun.
  public var begun: Int
  /// The number of tests of the whole loop.
  public var tests: Int
  /// The number of attempts by their outcome, such as `completed` or `failed`.
  public var outcomes: [String: Int]
  /// The time at which the next test is due, in milliseconds since 1970; `nil` if time is not what it waits for.
  public var dueAtMs: Int64?
  /// The reason why the loop stands still, for display; `nil` if there is none.
  public var problem: String?

  /// Creates a status without a problem.
  public init(
    state: String = "none", begun: Int = 0, tests: Int = 0, outcomes: [String: Int] = [:], dueAtMs: Int64? = nil
  ) {
    self.state = state
    self.begun = begun
    self.tests = tests
    self.outcomes = outcomes
    self.dueAtMs = dueAtMs
  }
}
