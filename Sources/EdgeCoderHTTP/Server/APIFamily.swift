internal import HTTPTypes
internal import Hummingbird

/// The family of clients that a path serves, which decides the form of errors.
enum APIFamily: Sendable, Hashable {
  /// `/api/generate`: the EdgeCoder proxy and Ollama, in one object that both accept.
  case generate
  /// The rest of `/api`, and unknown paths.
  case ollama
  /// `/v1`.
  case openAI

  init(path: String) {
    if path == "/v1" || path.hasPrefix("/v1/") {
      self = .openAI
    } else {
      self = path == "/api/generate" ? .generate : .ollama
    }
  }

  /// Returns the error in the form of this family, also for a line or an event of a stream.
  func body(_ error: APIError) -> any Encodable & Sendable {
    switch self {
    case .generate: ProxyFailure(error)
    case .ollama: OllamaFailure(error: error.message)
    case .openAI: OpenAIFailure(error)
    }
  }

  /// Returns the error as a whole response.
  func response(_ error: APIError) -> Response {
    // Each family has its own status for what succeeds a moment later.
    let status = self == .openAI && error.isBusy ? .tooManyRequests : error.status
    var response = Response.json(body(error), status: status)
    for field in error.headers { response.headers[field.name] = field.value }
    if error.isBusy {
      response.headers[.retryAfter] = "1"
      response.headers[.shouldRetry] = "true"
    }
    // The silent retries of the OpenAI clients do not help a prompt that timed out or failed on a phone, nor bring a route.
    if self == .openAI, [501, 502, 504].contains(error.status.code) {
      response.headers[.shouldRetry] = "false"
    }
    return response
  }

  private struct ProxyFailure: Encodable, Sendable {
    let ok = false
    let error: String
    let code: String?
    let response = ""
    /// The reply of the phone, if the phone failed.
    let output: String
    let id: String?
    let durationMs: Int?
    let deviceName: String?

    init(_ error: APIError) {
      self.error = error.message
      code = error.code
      output = error.reply?.answer.output ?? ""
      id = error.reply?.id
      durationMs = error.reply?.durationMs
      deviceName = error.reply?.phone
    }
  }

  private struct OllamaFailure: Encodable, Sendable {
    let error: String
  }

  private struct OpenAIFailure: Encodable, Sendable {
    struct Detail: Encodable, Sendable {
      let message: String
      let type: String
      let code: String?
      let param: String?

      private enum CodingKeys: CodingKey { case message, type, param, code }

      // `param` and `code` are there even when null: strict clients look for the keys.
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(message, forKey: .message)
        try container.encode(type, forKey: .type)
        try container.encode(param, forKey: .param)
        try container.encode(code, forKey: .code)
      }
    }
    let error: Detail

    private static func type(of error: APIError) -> String {
      if error.isBusy { return "rate_limit_error" }
      return error.status.code < 500 ? "invalid_request_error" : "server_error"
    }

    init(_ error: APIError) {
      self.error = Detail(
        message: error.message, type: Self.type(of: error),
        code: error.isBusy ? "rate_limit_exceeded" : error.code, param: nil)
    }
  }
}

extension HTTPField.Name {
  /// The header of the OpenAI clients; the name is a constant token, so it always parses.
  static let shouldRetry = HTTPField.Name("x-should-retry")!
}
