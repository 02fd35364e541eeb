public import ErrorReporting

/// Why a central in another process could not be asked.
public typealias CentralClientError = CodedError<CentralClientErrorDomain>

/// The domain of the codes of ``CentralClientError``.
public enum CentralClientErrorDomain {}

extension CodedError.Code where Domain == CentralClientErrorDomain {
  /// Nothing answers at the address.
  public static var unreachable: Self { Self("unreachable", .unavailable) }
  /// What answers there is not a central.
  public static var notACentral: Self { Self("not a central", .unavailable) }
  /// The central did not answer in time.
  public static var timedOut: Self { Self("timed out", .temporary) }
  /// The central went away in the middle of its answer.
  public static var interrupted: Self { Self("interrupted", .unavailable) }
  /// The central refused the request itself.
  public static var refused: Self { Self("refused", .invalidInput) }
}

extension CodedError where Domain == CentralClientErrorDomain {
  static func notACentral(at url: String) -> CentralClientError {
    CentralClientError(.notACentral, "what answers at \(url) is no EdgeBlue central", hint: "is the port right?")
  }

  static func interrupted(at url: String) -> CentralClientError {
    CentralClientError(.interrupted, "the central at \(url) went away in the middle of its answer")
  }
}
