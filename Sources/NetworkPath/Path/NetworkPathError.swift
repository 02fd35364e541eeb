public import ErrorReporting

/// An error that keeps a monitor from reading the network path.
///
/// ```swift
/// do {
///   let monitor = try await NetworkPathMonitor.start()
///   print(monitor.path.status)
/// } catch let error as NetworkPathError where error.code == .unavailable {
///   print(error.message, error.hint ?? "")  // for example in a sandbox without netlink
/// }
/// ```
public typealias NetworkPathError = CodedError<NetworkPathErrorDomain>

/// The domain of the codes of ``NetworkPathError``.
public enum NetworkPathErrorDomain {}

extension CodedError.Code where Domain == NetworkPathErrorDomain {
  /// The kernel refuses a netlink socket to this process, or a request on it; the error's hint names the remedy.
  public static var unavailable: Self { Self("netlink is not available", .unavailable) }
  /// The process has reached its limit of file descriptors, threads or memory.
  public static var limitExceeded: Self { Self("limit exceeded", .unavailable) }
  /// The kernel did not reply within the timeout.
  public static var timedOut: Self { Self("timed out", .unavailable) }
  /// An argument of the caller lies outside its range, which the message states.
  public static var invalidArgument: Self { Self("invalid argument", .unavailable) }
}
