public import ErrorReporting

/// Why the network path cannot be watched.
public typealias NetworkPathError = CodedError<NetworkPathErrorDomain>

/// The domain of the codes of ``NetworkPathError``.
public enum NetworkPathErrorDomain {}

extension CodedError.Code where Domain == NetworkPathErrorDomain {
  /// The kernel gives this process no netlink socket, or none of what is asked through it.
  public static var unavailable: Self { Self("netlink is not available", .unavailable) }
  /// The process has reached a limit: descriptors, threads, memory.
  public static var limitExceeded: Self { Self("limit exceeded", .unavailable) }
  /// The kernel did not answer in time.
  public static var timedOut: Self { Self("timed out", .unavailable) }
  /// A caller's argument cannot be.
  public static var invalidArgument: Self { Self("invalid argument", .unavailable) }
}
