import Agent
import AgentHTTP
import ArgumentParser
import Logging
import ServiceLifecycle

/// The option that serves metrics to Prometheus.
struct MetricsOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Serve metrics to Prometheus at http://127.0.0.1:PORT/metrics, 0 to 65535; 0 selects a free port.",
      valueName: "port"))
  var metricsPort: Int?

  func validate() throws {
    try checkRange(of: "--metrics-port", metricsPort, 0...65535)
  }

  /// Returns the metrics server, or nothing without `--metrics-port`.
  func server(_ terminal: Terminal, _ metrics: @escaping @Sendable () async -> [Metric]) -> [any Service] {
    guard let metricsPort else { return [] }
    let server = MetricsServer(port: metricsPort, logger: Logger(label: "edgeblue.metrics")) { port in
      terminal.happened(
        "serving metrics at http://127.0.0.1:\(port)/metrics", "metrics", ["port": .number(port)])
    } metrics: {
      await metrics()
    }
    return [server]
  }
}
