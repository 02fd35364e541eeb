internal import HTTPTypes
internal import Hummingbird

/// A middleware for requests without a route: a known path with a wrong method (405), a path that this server does not
/// have (501), and an unknown path (404).
struct RouteFallback: RouterMiddleware {
  private static let methods: [String: String] = [
    "/": "GET, HEAD", "/api/generate": "POST", "/api/chat": "POST", "/api/show": "POST",
    "/api/pull": "POST", "/api/tags": "GET, HEAD",
    "/api/ps": "GET, HEAD", "/api/version": "GET, HEAD", "/v1/models": "GET, HEAD",
    "/v1/models/\(HTTPAPI.modelName)": "GET, HEAD", "/v1/chat/completions": "POST", "/v1/completions": "POST",
    "/v1/responses": "POST",
  ]

  func handle(
    _ request: Request, context: APIContext,
    next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as HTTPError where error.status == .notFound {
      let path = request.uri.path
      guard let methods = Self.methods[path] else {
        if let reason = AbsentRoutes.reason(for: path) {
          throw APIError(.notImplemented, "\(path) is not supported: \(reason)", code: "not_supported")
        }
        throw APIError(.notFound, "not found", code: "not_found")
      }
      var error = APIError(.methodNotAllowed, "\(path) accepts \(methods)", code: "method_not_allowed")
      error.headers[.allow] = methods
      throw error
    }
  }
}
