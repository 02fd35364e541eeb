internal import EdgeCoder
internal import FoundationEssentials
internal import HTTPTypes
internal import Timing

/// An error response; ``APIFamily`` encodes it in the form that the client expects.
struct APIError: Error, Sendable {
  var status: HTTPResponse.Status
  var message: String
  /// The code for programs, which OpenAI calls `code`.
  var code: String?
  /// The reply of the phone, if the phone failed.
  var reply: InferenceReply?
  var headers: HTTPFields = [:]

  init(_ status: HTTPResponse.Status, _ message: String, code: String? = nil) {
    self.status = status
    self.message = message
    self.code = code
  }

  static func badRequest(_ message: String) -> APIError {
    APIError(.badRequest, message, code: "invalid_request")
  }

  /// The error of a client that disconnected; the status appears only in the log, as in nginx.
  static var clientGone: APIError {
    APIError(.init(code: 499, reasonPhrase: "Client Closed Request"), "the client disconnected", code: "client_gone")
  }

  /// Returns the error of a reply that exceeded the timeout of its next piece, or of the whole.
  static func tooLate(after time: Duration, _ limits: ProgressLimits) -> APIError {
    let message =
      time < limits.total
      ? "no text arrived within \(limits.first.wholeSeconds) s"
      : "the reply was incomplete after \(limits.total.wholeSeconds) s"
    return APIError(.gatewayTimeout, message, code: "timeout")
  }

  /// Returns the error of a phone that refused a prompt or failed.
  static func phoneFailed(_ reply: InferenceReply, _ refusal: Answer.Refusal) -> APIError {
    let reason = refusal.reason.isEmpty ? "no reason given" : refusal.reason.excerpt
    let (status, code): (HTTPResponse.Status, String) =
      switch refusal.kind {
      case .failed, .cancelled: (.badGateway, "phone_failed")
      case .noModel: (.serviceUnavailable, "no_model")
      case .busy: (.serviceUnavailable, "phone_busy")
      case .refused: (.contentTooLarge, "prompt_refused")
      case .contextExceeded: (.badRequest, contextExceeded)
      case .unsupported: (.badRequest, "unsupported")
      }
    let isBusy = refusal.kind == .busy && reason.hasPrefix("busy")
    var error = APIError(
      status, isBusy ? "the phone is \(reason)" : "the phone could not answer: \(reason)", code: code)
    error.reply = reply
    return error
  }

  /// The error of a reply that calls a tool although the request has none.
  static var unexpectedCall: APIError {
    APIError(.badGateway, "the model called a tool although the request has none", code: "phone_failed")
  }

  /// The code of a prompt that does not fit into the context of the model, as OpenAI names it.
  static let contextExceeded = "context_length_exceeded"

  /// A Boolean value that indicates whether the same request may succeed a moment later.
  var isBusy: Bool { code == "busy" || code == "phone_busy" }

  /// Creates the response for any error.
  init(any error: any Error) {
    switch error {
    case let error as APIError: self = error
    case is CancellationError:
      self.init(.serviceUnavailable, "the central is shutting down", code: "shutting_down")
    default: self.init(.internalServerError, "internal error", code: Self.internalError)
    }
  }

  /// The code of an unexpected error.
  static let internalError = "internal_error"

  init(_ error: InferenceError) {
    let (status, code): (HTTPResponse.Status, String) =
      switch error.code {
      case .noPhoneReady: (.serviceUnavailable, "no_phone_ready")
      case .disconnected: (.serviceUnavailable, "phone_disconnected")
      case .writeFailed: (.serviceUnavailable, "write_failed")
      case .busy: (.serviceUnavailable, "busy")
      case .noModel: (.serviceUnavailable, "no_model")
      case .contextExceeded: (.badRequest, Self.contextExceeded)
      case .unsupported: (.badRequest, "unsupported")
      case .timedOut: (.gatewayTimeout, "timeout")
      case .requestTooLarge: (.contentTooLarge, "prompt_too_large")
      case .badReply: (.badGateway, "damaged_reply")
      case .modelFailed: (.badGateway, "model_failed")
      case .networkLost: (.serviceUnavailable, "network_lost")
      default: (.internalServerError, Self.internalError)
      }
    self.init(status, error.message + (error.hint.map { " (\($0))" } ?? ""), code: code)
  }

  /// Creates the response for a malformed body: the place of the mistake, without any content.
  init(_ error: DecodingError) {
    func place(_ path: [any CodingKey]) -> String {
      let names = path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
      return names.hasPrefix(".") ? String(names.dropFirst()) : names
    }
    let message =
      switch error {
      case .typeMismatch(let type, let context):
        context.codingPath.isEmpty
          ? "the body is not a JSON object" : "`\(place(context.codingPath))` is not a \(Self.name(of: type))"
      case .valueNotFound(_, let context): "`\(place(context.codingPath))` is null"
      case .keyNotFound(let key, let context): "`\(place(context.codingPath + [key]))` is missing"
      case .dataCorrupted(let context) where !context.codingPath.isEmpty:
        "`\(place(context.codingPath))` is not valid"
      default: "the body is not valid JSON, or holds a number that is too large"
      }
    self = .badRequest(message)
  }

  private static func name(of type: any Any.Type) -> String {
    switch type {
    case is String.Type: "string"
    case is Bool.Type: "boolean"
    case is any BinaryInteger.Type: "whole number"
    case is any BinaryFloatingPoint.Type: "number"
    default: "value of the right kind"
    }
  }
}

extension Duration {
  /// The duration in seconds, rounded to the nearest, for messages.
  fileprivate var wholeSeconds: Int { Int(inSeconds.rounded()) }
}
