import JSONValues
import SpeedTest
import SpeedTestNIO

extension SpeedTestReport {
  /// The report for programs: rates in bits per second, times in milliseconds, raw samples in nanoseconds and bytes.
  func json(server: String) -> [String: JSONValue] {
    [
      "event": "result", "server": .string(server), "serverAddress": JSONValue(connection?.serverAddress),
      "localAddress": JSONValue(connection?.localAddress), "serverVersion": JSONValue(connection?.serverVersion),
      "tls": JSONValue(connection?.tlsVersion), "cipher": JSONValue(connection?.cipher),
      "interface": JSONValue(connection?.interface), "interfaceBytes": traffic?.json ?? .null,
      "threads": .number(result.threads),
      "download": result.download?.json(SpeedTestRating.download) ?? .null,
      "upload": result.upload?.json(SpeedTestRating.upload) ?? .null,
      "ping": result.latency?.json ?? .null, "pings": .array(result.pings.map(\.json)),
      "failure": result.failure.map {
        .object(["phase": .string($0.phase.rawValue), "error": JSONValue($0.error?.message)])
      }
        ?? .null,
    ]
  }
}

extension InterfaceTraffic {
  /// The bytes of the interface for programs.
  fileprivate var json: JSONValue {
    ["test": test.json, "download": download?.json ?? .null, "upload": upload?.json ?? .null]
  }
}

extension InterfaceTraffic.Amount {
  fileprivate var json: JSONValue {
    ["received": .number(Int(clamping: received)), "sent": .number(Int(clamping: sent))]
  }
}

extension SpeedTestResult.Direction {
  fileprivate func json(_ rating: (Double) -> SpeedTestRating) -> JSONValue {
    let rate = throughput.bitsPerSecond
    return .object([
      "bitsPerSecond": .number(rate), "bytes": .number(throughput.bytes),
      "nanoseconds": .number(Int(clamping: throughput.nanoseconds)), "totalBytes": .number(Int(clamping: totalBytes)),
      "chunkSize": .number(chunkSize), "rating": .string(rating(rate).words),
      "samples": .array(
        samples.map {
          .array($0.map { .array([.number(Int(clamping: $0.nanoseconds)), .number(Int(clamping: $0.bytes))]) })
        }),
    ])
  }
}

extension Latency {
  fileprivate var json: JSONValue {
    .object([
      "count": .number(count), "medianMs": .number(median / 1e6), "p10Ms": .number(p10 / 1e6),
      "p90Ms": .number(p90 / 1e6), "jitterMs": .number(jitter / 1e6), "shortestMs": .number(Double(shortest) / 1e6),
      "rating": .string(SpeedTestRating.ping(nanoseconds: median).words),
    ])
  }
}

extension PingSample {
  fileprivate var json: JSONValue {
    .object(["clientNs": .number(Int(clamping: client)), "serverNs": .number(Int(clamping: server))])
  }
}
