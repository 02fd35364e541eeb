public import ErrorReporting

/// Why power cannot be watched.
public typealias PowerError = CodedError<PowerErrorDomain>

/// The domain of the codes of ``PowerError``.
public enum PowerErrorDomain {}

extension CodedError.Code where Domain == PowerErrorDomain {
  /// A caller's argument cannot be.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
}
