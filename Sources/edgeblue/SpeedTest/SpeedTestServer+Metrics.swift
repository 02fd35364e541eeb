import Agent
import SpeedTestNIO

extension SpeedTestServer.Statistics {
  /// The metrics of a server of speed tests.
  var metrics: [Metric] {
    func sample(_ value: some BinaryInteger, _ name: String, _ label: String) -> Metric.Sample {
      Metric.Sample(Double(value), [name: label])
    }
    return [
      Metric("edgeblue_speedtest_connections", .gauge, "Open connections.", open),
      Metric(
        "edgeblue_speedtest_connections_total", .counter, "Connections: accepted, or refused because of a limit.",
        [sample(accepted, "outcome", "accepted"), sample(refused, "outcome", "refused")]),
      Metric("edgeblue_speedtest_tokens_rejected_total", .counter, "Tokens that were not valid.", rejectedTokens),
      Metric(
        "edgeblue_speedtest_bytes_total", .counter, "Bytes of payload sent, and bytes received over TCP.",
        [sample(sentBytes, "direction", "sent"), sample(receivedBytes, "direction", "received")]),
      Metric(
        "edgeblue_speedtest_pings_total", .counter,
        "Pings over UDP: answered, refused because of the address, or ignored without a valid token.",
        [
          sample(pings, "outcome", "answered"), sample(refusedPings, "outcome", "refused"),
          sample(ignoredPings, "outcome", "ignored"),
        ]),
    ]
  }
}
