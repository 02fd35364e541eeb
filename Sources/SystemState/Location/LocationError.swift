public import ErrorReporting

/// An error that keeps a monitor from reading locations.
public typealias LocationError = CodedError<LocationErrorDomain>

/// The domain of the codes of ``LocationError``.
public enum LocationErrorDomain {}

extension CodedError.Code where Domain == LocationErrorDomain {
  /// An argument of the caller lies outside its range, which the message states.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
  /// The file of a track cannot be read.
  public static var storage: Self { Self("storage failed", .failed) }
}
