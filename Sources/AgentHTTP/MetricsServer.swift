public import Agent
internal import HTTPTypes
internal import Hummingbird
package import IncomingHTTP
public import Logging
internal import NIOCore
public import ServiceLifecycle

/// A server of metrics in Prometheus's text format: `GET /metrics` on 127.0.0.1.
///
/// It has the limits of the HTTP API: idle connections are closed after 30 s, at most 128 are open, the body of a request
/// has 1 MiB at most and arrives within 20 s, and requests with the `Host` or `Origin` of another host are refused with
/// 403.
///
/// ```swift
/// let server = MetricsServer(port: 9100, logger: Logger(label: "metrics")) {
///   [Metric("example_jobs_total", .counter, "Jobs.", 17)]
/// }
/// try await server.run()
/// ```
public struct MetricsServer: Service {
  private let port: Int
  private let logger: Logger
  private let metrics: @Sendable () async -> [Metric]
  private let onListening: @Sendable (Int) async -> Void
  /// The limits on the bodies of requests, of which none means anything here.
  package var body = IncomingBody()

  /// Creates a server, which listens while ``run()`` runs.
  /// - Parameters:
  ///   - port: The port on 127.0.0.1; 0 for a free one.
  ///   - logger: The logger for errors.
  ///   - onListening: A closure that is called once with the port, when connections are accepted.
  ///   - metrics: A closure that returns the present metrics.
  public init(
    port: Int, logger: Logger, onListening: @escaping @Sendable (Int) async -> Void = { _ in },
    metrics: @escaping @Sendable () async -> [Metric]
  ) {
    self.port = port
    self.logger = logger
    self.onListening = onListening
    self.metrics = metrics
  }

  /// Listens until the service group shuts down gracefully.
  /// - Throws: An error of the socket layer when the port is in use.
  public func run() async throws {
    let router = Router()
    router.add(middleware: LoopbackGate(body))
    router.get("/metrics") { [metrics] _, _ in
      Response(
        status: .ok, headers: [.contentType: Metric.contentType],
        body: ResponseBody(byteBuffer: ByteBuffer(string: Metric.text(of: await metrics()))))
    }
    let server = IncomingHTTPServer(port: port, logger: logger, onListening: onListening)
    try await server.run(server.application(router))
  }
}
