public import ErrorReporting

/// Why a notification was not sent.
public typealias PhoneTransportError = CodedError<PhoneTransportErrorDomain>

/// The domain of the codes of ``PhoneTransportError``.
public enum PhoneTransportErrorDomain {}

extension CodedError.Code where Domain == PhoneTransportErrorDomain {
  /// Nobody, or not this peer, is subscribed.
  public static var notSubscribed: Self { Self("not subscribed", .temporary) }
  /// The stack or the adapter is away.
  public static var down: Self { Self("transport down", .temporary) }
  /// The stack took the notification but did not accept it, or not in time.
  public static var failed: Self { Self("failed", .failed) }
}
