public import Agent
internal import HTTPTypes
internal import Hummingbird
public import Logging
internal import NIOCore
public import ServiceLifecycle

/// Serves an agent's numbers to Prometheus, and to whoever else reads its text format: `GET /metrics` on 127.0.0.1.
public struct MetricsServer: Service {
  private let port: Int
  private let logger: Logger
  private let metrics: @Sendable () async -> [Metric]
  private let onListening: @Sendable (Int) async -> Void

  /// Makes a server; it listens while ``run()`` runs.
  /// - Parameters:
  ///   - port: the port on 127.0.0.1; 0 takes a free one.
  ///   - logger: gets what goes wrong.
  ///   - onListening: called once with the port, when connections are accepted.
  ///   - metrics: the numbers as they are now.
  public init(
    port: Int, logger: Logger, onListening: @escaping @Sendable (Int) async -> Void = { _ in },
    metrics: @escaping @Sendable () async -> [Metric]
  ) {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .notice)
    (self.port, self.logger, self.onListening, self.metrics) = (port, logger, onListening, metrics)
  }

  /// Listens until the service group shuts down gracefully.
  /// - Throws: an error of the socket layer when the port is taken.
  public func run() async throws {
    let router = Router()
    router.get("/metrics") { [metrics] _, _ in
      Response(
        status: .ok, headers: [.contentType: Metric.contentType],
        body: ResponseBody(byteBuffer: ByteBuffer(string: Metric.text(of: await metrics()))))
    }
    let application = Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: port), serverName: "edgeblue"),
      onServerRunning: { [onListening] channel in
        if let port = channel.localAddress?.port { await onListening(port) }
      },
      logger: logger)
    try await application.run()
  }
}
