public import ErrorReporting

/// An error that keeps a monitor, or its source, from reading locations.
public typealias LocationError = CodedError<LocationErrorDomain>

/// The domain of the codes of ``LocationError``.
public enum LocationErrorDomain {}

extension CodedError.Code where Domain == LocationErrorDomain {
  /// An argument of the caller lies outside its range, which the message states.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// The source does not let this program locate the host, or there is nobody who could permit it.
  public static var notPermitted: Self { Self("not permitted", .notPermitted) }
  /// The source is not there, or does not work.
  public static var unavailable: Self { Self("unavailable", .unavailable) }
  /// The file of a track cannot be read.
  public static var storage: Self { Self("storage failed", .failed) }
}
