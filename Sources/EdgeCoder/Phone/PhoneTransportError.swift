public import ErrorReporting

/// An error of a transport that could not send a notification.
public typealias PhoneTransportError = CodedError<PhoneTransportErrorDomain>

/// The domain of the codes of ``PhoneTransportError``.
public enum PhoneTransportErrorDomain {}

extension CodedError.Code where Domain == PhoneTransportErrorDomain {
  /// The peer, or every central, is not subscribed.
  public static var notSubscribed: Self { Self("not subscribed", .temporary) }
  /// The stack or the adapter is unavailable.
  public static var down: Self { Self("transport down", .temporary) }
  /// The stack refused the notification or did not accept it in time.
  public static var failed: Self { Self("failed", .failed) }
}
