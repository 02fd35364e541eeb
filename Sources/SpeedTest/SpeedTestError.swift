public import ErrorReporting

/// An error of a speed test, its client or its server.
public typealias SpeedTestError = CodedError<SpeedTestErrorDomain>

/// The domain of the codes of ``SpeedTestError``.
public enum SpeedTestErrorDomain {}

extension CodedError.Code where Domain == SpeedTestErrorDomain {
  /// An argument of the caller is out of its allowed range.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// No connection to the server can be made, or its certificate is not trusted.
  public static var unreachable: Self { Self("unreachable", .unavailable) }
  /// The server does not accept the token.
  public static var refused: Self { Self("refused", .notPermitted) }
  /// The peer sent something that the protocol does not allow.
  public static var invalidReply: Self { Self("invalid reply", .failed) }
  /// The peer closed the connection before the exchange was complete.
  public static var connectionClosed: Self { Self("connection closed", .temporary) }
  /// The peer did not finish a step in time.
  public static var timedOut: Self { Self("timed out", .temporary) }
  /// A file cannot be read or written.
  public static var storage: Self { Self("storage", .failed) }
  /// The contents of a file are corrupt.
  public static var damagedFile: Self { Self("damaged file", .failed) }
  /// The control server does not grant a test, or does not take a result.
  public static var declined: Self { Self("declined", .failed) }
  /// The control server requires that the user accepts its terms and conditions.
  public static var termsNotAccepted: Self { Self("terms not accepted", .notPermitted) }
  /// Another program has what this one needs: a loop, or the one test at a time.
  public static var busy: Self { Self("busy", .temporary) }
}
