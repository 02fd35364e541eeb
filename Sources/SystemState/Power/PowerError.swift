public import ErrorReporting

/// An error that keeps a monitor from reading the power state.
///
/// ```swift
/// var options = PowerMonitor.Options()
/// options.interval = .zero
/// do {
///   _ = try await PowerMonitor.start(options)
/// } catch let error as PowerError where error.code == .invalidArgument {
///   print(error.message)  // interval is 0.0 seconds; allowed: 100 ms to 1 h
/// }
/// ```
public typealias PowerError = CodedError<PowerErrorDomain>

/// The domain of the codes of ``PowerError``.
public enum PowerErrorDomain {}

extension CodedError.Code where Domain == PowerErrorDomain {
  /// An argument of the caller lies outside its range, which the message states.
  public static var invalidArgument: Self { Self("invalid argument", .invalidInput) }
}
