internal import EdgeCoder
internal import Hummingbird

/// The route of `/status`, which the EdgeCoder proxy answers whatever the method.
///
/// It is a middleware because a route of the router has one method of a fixed set.
struct StatusRoute: RouterMiddleware {
  let service: any InferenceService

  func handle(
    _ request: Request, context: APIContext,
    next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    guard request.uri.path == "/status" else { return try await next(request, context) }
    return .json(await service.status())
  }
}
