package import Hummingbird
package import HummingbirdCore
package import Logging
package import NIOCore
internal import ServiceLifecycle

/// The front of the HTTP servers of this package: one port, on 127.0.0.1 unless its caller names another address, TLS if
/// its caller has a certificate, and the limits on its connections.
package struct IncomingHTTPServer: Sendable {
  /// The limit on open connections by default; more wait in the queue of the kernel.
  package static let connectionLimit = 128
  /// The number of connections that SwiftNIO accepts before it asks again whether it may.
  private static let burst = 16
  /// The time after which a connection without traffic is closed.
  package static let idleTimeout: TimeAmount = .seconds(30)

  private let address: String
  private let port: Int
  private let connections: Int
  private let logger: Logger
  private let onListening: @Sendable (Int) async -> Void

  /// Creates a front that does not listen yet.
  /// - Parameters:
  ///   - address: The address to listen on.
  ///   - port: The port; 0 selects a free one.
  ///   - connections: The limit on open connections.
  ///   - logger: The logger of the server, which is verbose only at `trace`.
  ///   - logsClients: `false` if addresses of clients must not be logged, as the HTTP server does at `trace`.
  ///   - onListening: Called once with the port, when connections are accepted.
  package init(
    address: String = "127.0.0.1", port: Int, connections: Int = connectionLimit, logger: Logger,
    logsClients: Bool = true, onListening: @escaping @Sendable (Int) async -> Void
  ) {
    var logger = logger
    logger.logLevel = max(logger.logLevel, logsClients && logger.logLevel == .trace ? .trace : .notice)
    self.address = address
    self.port = port
    self.connections = connections
    self.logger = logger
    self.onListening = onListening
  }

  /// Returns HTTP with the limits on idle connections.
  /// - Parameter tls: The certificate of the server; `nil` for plain HTTP.
  package static func http(over tls: ServerTLS?) throws -> HTTPServerBuilder {
    try tls?.securing(http()) ?? http()
  }

  /// Returns plain HTTP with the limits on idle connections.
  /// - Parameter handlers: Returns further handlers for each connection.
  package static func http(
    handlers: @escaping @Sendable () -> [any RemovableChannelHandler] = { [] }
  ) -> HTTPServerBuilder {
    .http1(configuration: .init(additionalChannelHandlers: handlers(), idleTimeout: idleTimeout))
  }

  /// Returns the server with a router.
  /// - Parameters:
  ///   - router: The routes.
  ///   - http: The protocol of the connections.
  package func application<Context: InitializableFromSource<ApplicationRequestContextSource> & RequestContext>(
    _ router: Router<Context>, over http: HTTPServerBuilder = http()
  ) -> some ApplicationProtocol {
    IncomingHTTPApplication(
      router.buildResponder(), over: http,
      ApplicationConfiguration(
        address: .hostname(address, port: port), serverName: "edgeblue",
        availableConnectionsDelegate: MaximumAvailableConnections(max(connections - Self.burst + 1, 1), logger: logger)),
      logger: logger, onListening: onListening)
  }

  /// Serves until the service group shuts down gracefully, or the task is cancelled.
  /// - Parameters:
  ///   - application: A server of this front.
  ///   - onCancel: Called when the task is cancelled, to close the connections with requests in progress.
  /// - Throws: An error of the socket layer if the port is in use.
  package func run(_ application: some ApplicationProtocol, onCancel: @escaping @Sendable () -> Void = {}) async throws
  {
    let group = ServiceGroup(services: [application], logger: logger)
    // A task of its own, which is never cancelled: SwiftNIO traps when a server is cancelled while it accepts a
    // connection. A cancellation becomes a graceful shutdown, which ends with the requests in progress.
    let server = Task { try await group.run() }
    try await withTaskCancellationHandler {
      try await server.value
    } onCancel: {
      Task {
        await group.triggerGracefulShutdown()
        onCancel()
      }
    }
  }
}
