internal import HTTPTypes
package import Hummingbird

/// A middleware that refuses requests of other hosts, and of pages of other origins, with 403.
package struct LoopbackGate<Context: RequestContext>: RouterMiddleware {
  /// Creates a middleware without settings.
  package init() {}

  /// Passes a request on if it comes from this host.
  package func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let host = request.head.authority, LoopbackRule.allows(host: host) else {
      throw HTTPError(.forbidden, message: "the host of the request is not localhost")
    }
    if let origin = request.headers[.origin], !LoopbackRule.allows(origin: origin) {
      throw HTTPError(.forbidden, message: "the origin of the request is not this host")
    }
    return try await next(request, context)
  }
}
