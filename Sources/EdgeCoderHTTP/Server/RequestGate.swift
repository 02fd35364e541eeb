internal import HTTPTypes
internal import Hummingbird
internal import IncomingHTTP
internal import Logging
internal import Timing

/// The outermost middleware: checks the origin of each request and completes each response.
///
/// It refuses requests of other hosts (``LoopbackRule``) and bodies beyond the limits, answers CORS (``OriginRule``),
/// encodes every error in the form of the client family, and logs one line.
struct RequestGate: RouterMiddleware {
  let body: IncomingBody
  let origins: OriginRule
  let logger: Logger

  func handle(
    _ request: Request, context: APIContext,
    next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    let start = ContinuousClock.now
    let family = APIFamily(path: request.uri.path)
    var response: Response
    do {
      try admit(request)
      response = isPreflight(request) ? preflight() : try await next(try await received(request), context)
    } catch {
      let shown = APIError(any: error)
      if shown.code == APIError.internalError {
        logger.error("request failed", metadata: ["path": "\(request.uri.path)", "error": "\(type(of: error))"])
      }
      response = family.response(shown)
    }
    if let origin = request.headers[.origin], origins.allows(origin) {
      response.headers[.accessControlAllowOrigin] = origin
      response.headers[.vary] = "Origin"
    }
    if request.method == .head { response.body = ResponseBody() }
    logger.debug(
      "request",
      metadata: [
        "method": "\(request.method)", "path": "\(request.uri.path)", "status": "\(response.status.code)",
        "ms": "\(start.duration(to: .now).milliseconds(rounded: .towardZero))",
      ])
    return response
  }

  private func admit(_ request: Request) throws {
    guard LoopbackRule.allowsHost(of: request) else {
      throw APIError(
        .forbidden, "the host of the request is not localhost", code: "forbidden_host"
      )
    }
    if let origin = request.headers[.origin], !origins.allows(origin) {
      throw APIError(
        .forbidden, "the origin of the request is not this host, nor one that is allowed", code: "forbidden_origin")
    }
  }

  private func received(_ request: Request) async throws -> Request {
    do {
      return try await body.received(request)
    } catch let refusal as IncomingBody.Refusal {
      let code = refusal == .tooLarge ? "body_too_large" : "body_timeout"
      throw APIError(refusal.status, body.message(for: refusal), code: code)
    }
  }

  private func isPreflight(_ request: Request) -> Bool {
    request.method == .options && request.headers[.origin] != nil
      && request.headers[.accessControlRequestMethod] != nil
  }

  /// The headers that clients in a page send: Ollama's list, which has those of OpenAI's client for JavaScript.
  private static let headers =
    (["Authorization", "Content-Type", "User-Agent", "Accept", "X-Requested-With"]
    + [
      "Lang", "Package-Version", "OS", "Arch", "Retry-Count", "Runtime", "Runtime-Version", "Async", "Helper-Method",
      "Poll-Helper", "Custom-Poll-Interval", "Timeout",
    ].map { "X-Stainless-\($0)" }).joined(separator: ", ")

  private func preflight() -> Response {
    Response(
      status: .noContent,
      headers: [
        .accessControlAllowMethods: "GET, HEAD, POST", .accessControlAllowHeaders: Self.headers,
        .accessControlMaxAge: "600",
      ])
  }
}
