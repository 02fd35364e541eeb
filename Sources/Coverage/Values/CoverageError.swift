public import ErrorReporting

/// An error of a coverage measurement, its pings, its store or its control server.
public typealias CoverageError = CodedError<CoverageErrorDomain>

/// The domain of the codes of ``CoverageError``.
public enum CoverageErrorDomain {}

extension CodedError.Code where Domain == CoverageErrorDomain {
  /// An argument of the caller is out of its allowed range.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// The server has certainly not received the request, or its name has no address.
  public static var unreachable: Self { Self("unreachable", .unavailable) }
  /// The reply is missing or truncated; the server may have received the request.
  public static var interrupted: Self { Self("interrupted", .temporary) }
  /// The control server does not grant a session.
  public static var declined: Self { Self("declined", .failed) }
  /// The reply is not one that the protocol allows.
  public static var invalidReply: Self { Self("invalid reply", .failed) }
  /// The store cannot be read or written.
  public static var storage: Self { Self("storage failed", .failed) }
  /// The disk or a quota is full.
  public static var noSpace: Self { Self("no space", .unavailable) }
  /// The store has no session with this number.
  public static var noSuchSession: Self { Self("no such session", .invalidInput) }
  /// Another program measures with the same store, or sends from it.
  public static var busy: Self { Self("busy", .temporary) }
}
