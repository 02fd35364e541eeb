internal import EdgeCoder
internal import HTTPTypes
internal import Timing

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A failure as a client is told of it; ``APIFamily`` gives it the shape that the client expects.
struct APIError: Error, Sendable {
  var status: HTTPResponse.Status
  var message: String
  /// A word for programs, in OpenAI's `code`.
  var code: String?
  /// What the phone said, when it is the one that failed.
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

  /// The client is gone: nobody reads this, the number only appears in the log (as nginx writes it).
  static var clientGone: APIError {
    APIError(.init(code: 499, reasonPhrase: "Client Closed Request"), "the client went away", code: "client_gone")
  }

  /// Nothing came, or no more, within the limit for that; or the whole was not there within its own.
  static func tooLate(after time: Duration, _ limits: ProgressLimits) -> APIError {
    let what =
      time < limits.total
      ? "nothing came within \(limits.first.seconds) s"
      : "the answer was not at its end after \(limits.total.seconds) s"
    return APIError(.gatewayTimeout, what, code: "timeout")
  }

  /// The phone answered that it could not do it.
  static func phoneFailed(_ reply: InferenceReply) -> APIError {
    var error = APIError(.badGateway, "the phone could not answer: \(reply.output.excerpt)", code: "phone_failed")
    error.reply = reply
    return error
  }

  /// Whatever went wrong.
  init(any error: any Error) {
    switch error {
    case let error as APIError: self = error
    case is CancellationError:
      self.init(.serviceUnavailable, "the central is shutting down", code: "shutting_down")
    default: self.init(.internalServerError, "internal error", code: Self.internalError)
    }
  }

  /// The code of what should not happen.
  static let internalError = "internal_error"

  init(_ error: InferenceError) {
    let (status, code): (HTTPResponse.Status, String) =
      switch error.code {
      case .noPhoneReady: (.serviceUnavailable, "no_phone_ready")
      case .disconnected: (.serviceUnavailable, "phone_disconnected")
      case .writeFailed: (.serviceUnavailable, "write_failed")
      case .busy: (.serviceUnavailable, "busy")
      case .timedOut: (.gatewayTimeout, "timeout")
      case .requestTooLarge: (.contentTooLarge, "prompt_too_large")
      case .badReply: (.badGateway, "damaged_reply")
      case .modelFailed: (.badGateway, "model_failed")
      case .networkLost: (.serviceUnavailable, "network_lost")
      default: (.internalServerError, Self.internalError)
      }
    self.init(status, error.message + (error.hint.map { " (\($0))" } ?? ""), code: code)
    if error.code == .busy { headers[.retryAfter] = "1" }
  }

  /// Where in the body the mistake is, without repeating any of its content.
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
  /// Whole seconds, rounded to the nearest, for messages.
  var seconds: Int { Int((self / .seconds(1)).rounded()) }
  /// Whole milliseconds.
  var milliseconds: Int { Int(self / .milliseconds(1)) }
  /// Whole nanoseconds.
  var nanoseconds: Int { Int(self / .nanoseconds(1)) }
}
