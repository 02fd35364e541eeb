internal import HTTPTypes
package import Hummingbird

/// A middleware that refuses requests of other hosts, and of pages of other origins, with 403, and bodies beyond the
/// limits with 408 or 413.
package struct LoopbackGate<Context: RequestContext>: RouterMiddleware {
  private let body: IncomingBody

  /// Creates a middleware with limits on the bodies of requests.
  package init(_ body: IncomingBody) { self.body = body }

  /// Passes a request on if it comes from this host, and once its body has arrived.
  package func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard LoopbackRule.allowsHost(of: request) else {
      throw HTTPError(.forbidden, message: "the host of the request is not localhost")
    }
    if let origin = request.headers[.origin], !LoopbackRule.allows(origin: origin) {
      throw HTTPError(.forbidden, message: "the origin of the request is not this host")
    }
    do {
      return try await next(try await body.received(request), context)
    } catch let refusal as IncomingBody.Refusal {
      throw HTTPError(refusal.status, message: body.message(for: refusal))
    }
  }
}

extension LoopbackRule {
  /// The name of a further `Host`; the first one is the request's authority, so that HTTPTypes offers none.
  private static let host = HTTPField.Name("Host")!

  /// Returns `true` if a request names a host, and this host alone: a second `Host` is not passed over.
  package static func allowsHost(of request: Request) -> Bool {
    guard let authority = request.head.authority else { return false }
    return ([authority] + request.headers[values: host]).allSatisfy { allows(host: $0) }
  }
}
