/// The state of a run at an instant, for a display.
public struct CoverageStatus: Sendable, Hashable {
  /// The mean of the pings of the last whole second, for a display.
  public enum Latest: Sendable, Hashable {
    /// No ping was completed yet.
    case notAvailable
    /// The first second is not over, or no ping of the last one had a reply.
    case pending
    /// The mean of the second in milliseconds.
    case mean(Double)
  }

  /// The time since the start of the run.
  public var elapsed: Duration
  /// The kind of network that packets take.
  public var network: CoverageNetwork
  /// The technology of the mobile network.
  public var technology: CoverageTechnology
  /// The identifier of the session at the control server; `nil` before the first one.
  public var session: String?
  /// The mean of the pings of the last whole second.
  public var latest: Latest
  /// The number of completed pings, and of those with a reply.
  public var pings: Pings
  /// The number of fences so far.
  public var fences: Int
  /// The error of the newest location in metres; `nil` without a location, or if it is unknown.
  public var accuracy: Double?
  /// The reasons for which what is measured does not count.
  public var warnings: Set<CoverageWarning>
  /// The last failure, in words; `nil` when there is none, or it is over.
  public var problem: String?

  /// The counts of pings of a run.
  public struct Pings: Sendable, Hashable {
    /// The number of pings with a reply.
    public var answered = 0
    /// The number of pings without a reply.
    public var lost = 0
    /// The number of pings that were left out because the program was not run in time.
    public var stalled = 0

    /// Creates counts of no pings.
    public init() {}
  }
}

/// The way in which a run has ended.
public enum CoverageEnding: String, Sendable, Hashable, Codable {
  /// The task of the run was cancelled.
  case stopped
  /// The time limit of the run, of the user or the server, was reached.
  case timeLimit
  /// No precise location came within 30 minutes.
  case insufficientLocation
}
