public import ErrorReporting

/// Why an engine did not answer.
public typealias EngineError = CodedError<EngineErrorDomain>

/// The domain of the codes of ``EngineError``.
public enum EngineErrorDomain {}

extension CodedError.Code where Domain == EngineErrorDomain {
  /// Nothing listens at the engine's address.
  public static var unreachable: Self { Self("unreachable", .unavailable) }
  /// The engine answered with an error of its own, for example an unknown model.
  public static var refused: Self { Self("refused", .unavailable) }
  /// The engine did not answer, or stopped answering, within its time limit.
  public static var timedOut: Self { Self("timed out", .unavailable) }
  /// The engine's connection ended in the middle of a reply.
  public static var interrupted: Self { Self("interrupted", .unavailable) }
  /// The engine sent something that is not its protocol, or more than the limit.
  public static var badReply: Self { Self("bad reply", .unavailable) }
}
