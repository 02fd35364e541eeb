public import ErrorReporting

/// Why a prompt got no reply.
public typealias InferenceError = CodedError<InferenceErrorDomain>

/// The domain of the codes of ``InferenceError``.
public enum InferenceErrorDomain {}

extension CodedError.Code where Domain == InferenceErrorDomain {
  /// No phone is connected and subscribed.
  public static var noPhoneReady: Self { Self("no phone ready", .unavailable) }
  /// The link to the phone ended before the reply was complete.
  public static var disconnected: Self { Self("disconnected", .temporary) }
  /// No complete reply within the limit (90 s unless configured otherwise); from a phone with a v2 link, no text for so
  /// long, or no end of it within 10 min.
  public static var timedOut: Self { Self("timed out", .temporary) }
  /// The request is larger than the wire allows.
  public static var requestTooLarge: Self { Self("request too large", .invalidInput) }
  /// Too many requests are already waiting.
  public static var busy: Self { Self("busy", .temporary) }
  /// The phone sent a reply that is over the limit, or that was damaged on its way.
  public static var badReply: Self { Self("bad reply", .temporary) }
  /// The request could not be written to the phone.
  public static var writeFailed: Self { Self("write failed", .temporary) }
  /// The model server on the network did not answer, or stopped.
  public static var modelFailed: Self { Self("model failed", .temporary) }
  /// The network went away in the middle of a reply that came over it.
  public static var networkLost: Self { Self("network lost", .temporary) }
}
