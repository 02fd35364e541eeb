public import ErrorReporting

/// An error of an engine that did not answer a prompt.
///
/// ```swift
/// let error = EngineError(.timedOut, "no text within 90 s")
/// print(error)  // engine timed out: no text within 90 s
/// ```
public typealias EngineError = CodedError<EngineErrorDomain>

/// The domain of the codes of ``EngineError``.
public enum EngineErrorDomain {}

extension CodedError.Code where Domain == EngineErrorDomain {
  /// No server accepts connections at the address of the engine.
  public static var unreachable: Self { Self("engine unreachable", .unavailable) }
  /// The engine returned an error of its own, for example for an unknown model.
  public static var refused: Self { Self("engine refused", .unavailable) }
  /// The engine has too many requests, and would answer a later one.
  public static var busy: Self { Self("engine busy", .temporary) }
  /// The engine does not have the model, or has not loaded it yet.
  public static var noModel: Self { Self("engine without model", .unavailable) }
  /// The prompt does not fit into the context of the model.
  public static var contextExceeded: Self { Self("context exceeded", .invalidInput) }
  /// The engine or its model does not have what the request asks for, for example tools.
  public static var unsupported: Self { Self("not supported", .invalidInput) }
  /// The engine did not answer, or stopped answering, within its timeout.
  public static var timedOut: Self { Self("engine timed out", .unavailable) }
  /// The connection to the engine closed in the middle of a reply.
  public static var interrupted: Self { Self("engine interrupted", .unavailable) }
  /// The engine sent a malformed reply, or a reply over the limit.
  public static var badReply: Self { Self("engine bad reply", .unavailable) }
}
