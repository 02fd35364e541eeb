package import Hummingbird
internal import HummingbirdCore
package import Logging
package import NIOCore
internal import NIOHTTP1
internal import Timing

/// The server of a router, which does nothing between requests.
///
/// `Application.run()` of Hummingbird formats the date every second, whether a request comes or not, and so wakes an
/// idle process for ever. This one formats it with each response.
package struct IncomingHTTPApplication<Responder: HTTPResponder>: ApplicationProtocol
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
  /// A response that could not be written, because what followed of its request is not HTTP.
  private struct ResponseNotWritten: Error {}

  package let responder: Responder
  package let server: HTTPServerBuilder
  package let configuration: ApplicationConfiguration
  package let logger: Logger
  fileprivate let onListening: @Sendable (Int) async -> Void

  init(
    _ responder: Responder, over server: HTTPServerBuilder, _ configuration: ApplicationConfiguration, logger: Logger,
    onListening: @escaping @Sendable (Int) async -> Void
  ) {
    self.responder = responder
    self.server = server
    self.configuration = configuration
    self.logger = logger
    self.onListening = onListening
  }

  package func onServerRunning(_ channel: any Channel) async {
    if let port = channel.localAddress?.port { await onListening(port) }
  }

  /// Serves until the service group shuts down gracefully.
  /// - Throws: An error of the socket layer if the port is in use.
  package func run() async throws {
    let server = try server.buildServer(
      configuration: ServerConfiguration(
        address: configuration.address, serverName: configuration.serverName, backlog: configuration.backlog,
        reuseAddress: configuration.reuseAddress,
        availableConnectionsDelegate: configuration.availableConnectionsDelegate),
      eventLoopGroup: eventLoopGroup, logger: logger
    ) { request, writer, channel in
      let response = try await self.response(to: request, on: channel)
      do {
        try await writer.write(response: response.head, body: response.body)
      } catch is HTTPParserError {
        // The connection would answer the parser's error with a response of its own, within this one.
        throw ResponseNotWritten()
      }
    } onServerRunning: {
      await onServerRunning($0)
    }
    try await server.run()
  }

  private func response(to request: Request, on channel: any Channel) async throws -> Response {
    // Hummingbird's contexts are identified by it.
    var logger = logger
    logger[metadataKey: "hb.request.id"] = .stringConvertible(RequestID())
    var response: Response
    do {
      response = try await responder.respond(
        to: request, context: Responder.Context(source: .init(channel: channel, logger: logger)))
    } catch let error as HTTPParserError {
      // The connection answers it, and ends.
      throw error
    } catch {
      // Clients that leave end their requests so, too.
      logger.debug("request failed", metadata: ["reason": "\(error)"])
      response = Response(status: .internalServerError)
    }
    response.headers[.date] = HTTPDate.text(WallClock.unixMilliseconds() / 1000)
    response.headers[.server] = configuration.serverName
    return response
  }
}
