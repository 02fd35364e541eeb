package import HTTPTypes
package import Hummingbird
package import NIOCore

/// A middleware that turns every refusal of a server, its own and those of its routes, into responses of one form.
package struct RefusalForm<Context: RequestContext>: RouterMiddleware {
  private let response: @Sendable (HTTPResponse.Status, String, HTTPFields) -> Response

  /// Creates a middleware.
  /// - Parameter response: Returns the response for a status, its reason in words and its headers.
  package init(_ response: @escaping @Sendable (HTTPResponse.Status, String, HTTPFields) -> Response) {
    self.response = response
  }

  /// Passes a request on, and responds to it when it is refused.
  package func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as HTTPError {
      let words = error.status == .notFound ? "there is nothing here" : error.body ?? error.status.reasonPhrase
      return response(error.status, words, error.headers)
    }
  }
}

extension Response {
  /// Returns a response with a JSON document.
  package static func json(
    _ status: HTTPResponse.Status, _ document: ByteBuffer, _ headers: HTTPFields = [:]
  ) -> Response {
    var headers = headers
    headers[.contentType] = "application/json; charset=utf-8"
    return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: document))
  }
}
