internal import HTTPTypes
internal import Hummingbird
internal import Logging

/// The first thing every request meets: who may come in, and what leaves.
///
/// It refuses strangers (``LoopbackRule``), answers CORS for pages of this machine, turns every error into the client
/// family's shape and logs one line.
struct RequestGate: RouterMiddleware {
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
      response = isPreflight(request) ? preflight() : try await next(request, context)
    } catch {
      let told = APIError(any: error)
      if told.code == APIError.internalError {
        logger.error("request failed", metadata: ["path": "\(request.uri.path)", "error": "\(type(of: error))"])
      }
      response = family.response(told)
    }
    if let origin = request.headers[.origin], LoopbackRule.allows(origin: origin) {
      response.headers[.accessControlAllowOrigin] = origin
      response.headers[.vary] = "Origin"
    }
    if request.method == .head { response.body = ResponseBody() }
    logger.debug(
      "request",
      metadata: [
        "method": "\(request.method)", "path": "\(request.uri.path)", "status": "\(response.status.code)",
        "ms": "\(start.duration(to: .now).milliseconds)",
      ])
    return response
  }

  private func admit(_ request: Request) throws {
    guard let host = request.head.authority, LoopbackRule.allows(host: host) else {
      throw APIError(
        .forbidden, "only requests to localhost are served, and this one is addressed elsewhere", code: "forbidden_host"
      )
    }
    if let origin = request.headers[.origin], !LoopbackRule.allows(origin: origin) {
      throw APIError(.forbidden, "pages from other machines may not use this server", code: "forbidden_origin")
    }
  }

  private func isPreflight(_ request: Request) -> Bool {
    request.method == .options && request.headers[.origin] != nil
      && request.headers[.accessControlRequestMethod] != nil
  }

  private func preflight() -> Response {
    Response(
      status: .noContent,
      headers: [
        .accessControlAllowMethods: "GET, HEAD, POST", .accessControlAllowHeaders: "Authorization, Content-Type",
        .accessControlMaxAge: "600",
      ])
  }
}
