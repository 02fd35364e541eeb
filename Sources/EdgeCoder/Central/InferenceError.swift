public import ErrorReporting

/// An error of a prompt that got no reply.
///
/// ```swift
/// func ask(_ service: any InferenceService) async throws {
///   do {
///     print(try await service.generate(prompt: "Hello", maxTokens: nil).answer)
///   } catch let error as InferenceError where error.code == .busy {
///     print("try again later:", error.message)
///   }
/// }
/// ```
public typealias InferenceError = CodedError<InferenceErrorDomain>

/// The domain of the codes of ``InferenceError``.
public enum InferenceErrorDomain {}

extension CodedError.Code where Domain == InferenceErrorDomain {
  /// No phone is connected and subscribed.
  public static var noPhoneReady: Self { Self("no phone ready", .unavailable) }
  /// The connection to the phone closed before the reply was complete.
  public static var disconnected: Self { Self("disconnected", .temporary) }
  /// The reply was not complete within the timeout of the request.
  ///
  /// The timeout is ``CentralConfiguration/Requests/timeout``; over a v2 mux it applies to each pause, and
  /// ``CentralConfiguration/Requests/streamTimeout`` to the whole reply.
  public static var timedOut: Self { Self("timed out", .temporary) }
  /// The encoded request exceeds the limit of the protocol.
  public static var requestTooLarge: Self { Self("request too large", .invalidInput) }
  /// Too many requests are already waiting.
  public static var busy: Self { Self("busy", .temporary) }
  /// The model server does not have the model, or has not loaded it yet.
  public static var noModel: Self { Self("no model", .unavailable) }
  /// The prompt does not fit into the context of the model.
  public static var contextExceeded: Self { Self("context exceeded", .invalidInput) }
  /// The phone, its connection or its model does not have what the request asks for, for example tools.
  public static var unsupported: Self { Self("not supported", .invalidInput) }
  /// The reply exceeds the limit, or was damaged in transit.
  public static var badReply: Self { Self("bad reply", .temporary) }
  /// The request could not be written to the phone.
  public static var writeFailed: Self { Self("write failed", .temporary) }
  /// The model server on the network failed or did not answer.
  public static var modelFailed: Self { Self("model failed", .temporary) }
  /// The network was lost in the middle of a reply of a model server.
  public static var networkLost: Self { Self("network lost", .temporary) }
}
