/// The status of the coverage measurement that an agent carries.
///
/// The agent knows nothing of coverage: the program that composes both reports the status.
///
/// ```swift
/// var coverage = CoverageMeasurementStatus(state: "measuring")
/// coverage.pings = ["answered": 590, "lost": 10]
/// await runner.take(coverage)
/// ```
public struct CoverageMeasurementStatus: Sendable, Hashable {
  /// The name of the state: `measuring`, or the reason why nothing counts, such as `noLocation`, `wifi` or `busy`.
  public var state: String
  /// The technology of the mobile network as control servers name it, such as `4G/LTE`; `nil` before the first run.
  public var technology: String?
  /// The number of fences that were entered since the start of the agent.
  public var fences = 0
  /// The number of pings since the start of the agent: `answered`, `lost`, and `stalled` for those left out.
  public var pings: [String: Int] = [:]
  /// The identifier of the present session at the control server; `nil` without one.
  public var session: String?
  /// The number of finished sessions that the control server does not have yet.
  public var waiting = 0
  /// The number of attempts to send a session since the start of the agent, by outcome: `delivered`, `failed` or
  /// `refused`; and `outdated` for the sessions that were removed unsent.
  public var sendings: [String: Int] = [:]
  /// The last problem that is not over, for display; `nil` if there is none.
  public var problem: String?

  /// Creates the status of a measurement of which nothing is known but its state.
  public init(state: String) { self.state = state }
}
