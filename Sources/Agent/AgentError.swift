public import ErrorReporting

/// Why the agent cannot do what was asked for.
public typealias AgentError = CodedError<AgentErrorDomain>

/// The domain of the codes of ``AgentError``.
public enum AgentErrorDomain {}

extension CodedError.Code where Domain == AgentErrorDomain {
  /// A caller's argument cannot be.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// A file could not be read or written.
  public static var storage: Self { Self("storage failed", .unavailable) }
  /// A file does not hold what it should.
  public static var damagedFile: Self { Self("damaged file", .unavailable) }
  /// A service was to stop and did not.
  public static var serviceHangs: Self { Self("service hangs", .failed) }
  /// What was under way was told to end.
  public static var interrupted: Self { Self("interrupted", .unavailable) }
  /// No heartbeat gets through to the coordinator.
  public static var noHeartbeat: Self { Self("no heartbeat", .unavailable) }
  /// What is asked for cannot be at the moment.
  public static var notNow: Self { Self("not now", .temporary) }
  /// What tells of the network or the power has ended.
  public static var inputEnded: Self { Self("input ended", .failed) }
  /// What a service needs was not set up.
  public static var notConfigured: Self { Self("not configured", .unavailable) }
  /// Something took longer than it may.
  public static var timedOut: Self { Self("timed out", .unavailable) }
  /// The coordinator will not have this machine.
  public static var refused: Self { Self("refused", .unavailable) }
  /// Another agent runs already.
  public static var alreadyRunning: Self { Self("already running", .unavailable) }
  /// No agent runs that could be asked.
  public static var notRunning: Self { Self("not running", .unavailable) }
  /// The bus does not allow it.
  public static var notPermitted: Self { Self("not permitted", .notPermitted) }
  /// The bus over which the agent is controlled has gone.
  public static var busLost: Self { Self("bus lost", .failed) }
  /// An answer cannot be understood.
  public static var unexpectedReply: Self { Self("unexpected reply", .unavailable) }
}
