public import ErrorReporting

/// An error of the agent, with a code that a caller can react to.
///
/// ```swift
/// do {
///   let status = try await AgentClient.open().status()
///   print(status.mode)
/// } catch let error as AgentError where error.code == .notRunning {
///   print("no agent runs on this machine")
/// } catch let error as AgentError {
///   print(error.message, error.hint ?? "")
/// }
/// ```
public typealias AgentError = CodedError<AgentErrorDomain>

/// The domain of the codes of ``AgentError``.
public enum AgentErrorDomain {}

extension CodedError.Code where Domain == AgentErrorDomain {
  /// An argument of the caller is outside its allowed range.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// A file could not be read or written.
  public static var storage: Self { Self("storage failed", .unavailable) }
  /// A file is corrupt: its contents have another format.
  public static var damagedFile: Self { Self("damaged file", .unavailable) }
  /// A service did not stop within its limit.
  public static var serviceHangs: Self { Self("service hangs", .failed) }
  /// The operation was interrupted before it had finished.
  public static var interrupted: Self { Self("interrupted", .unavailable) }
  /// No heartbeat reaches the coordinator at present.
  public static var noHeartbeat: Self { Self("no heartbeat", .unavailable) }
  /// The request is not possible at present; it may be later.
  public static var notNow: Self { Self("not now", .temporary) }
  /// The monitor of the network or of the power has ended.
  public static var inputEnded: Self { Self("input ended", .failed) }
  /// A setting that the service needs is missing.
  public static var notConfigured: Self { Self("not configured", .unavailable) }
  /// An operation exceeded its time limit.
  public static var timedOut: Self { Self("timed out", .unavailable) }
  /// The coordinator refuses to work with this machine.
  public static var refused: Self { Self("refused", .unavailable) }
  /// Another agent runs already, on the bus or with the same folder.
  public static var alreadyRunning: Self { Self("already running", .unavailable) }
  /// No agent runs on this bus.
  public static var notRunning: Self { Self("not running", .unavailable) }
  /// The policy of the bus does not permit the call.
  public static var notPermitted: Self { Self("not permitted", .notPermitted) }
  /// The connection to the bus on which the agent is controlled was lost.
  public static var busLost: Self { Self("bus lost", .failed) }
  /// A response has an unexpected form, such as that of another version.
  public static var unexpectedReply: Self { Self("unexpected reply", .unavailable) }
}
