import SpeedTest
import SpeedTestNIO

extension SpeedTestReport {
  /// The report for programs: rates in bits per second, times in milliseconds, raw samples in nanoseconds and bytes.
  func json(server: String) -> [String: JSON] {
    [
      "event": "result", "server": .string(server), "serverAddress": JSON(connection?.serverAddress),
      "localAddress": JSON(connection?.localAddress), "serverVersion": JSON(connection?.serverVersion),
      "tls": JSON(connection?.tlsVersion), "cipher": JSON(connection?.cipher),
      "interface": JSON(connection?.interface), "interfaceBytes": traffic?.json ?? .null,
      "threads": .number(result.threads),
      "download": result.download?.json(SpeedTestRating.download) ?? .null,
      "upload": result.upload?.json(SpeedTestRating.upload) ?? .null,
      "ping": result.latency?.json ?? .null, "pings": .list(result.pings.map(\.json)),
      "failure": result.failure.map {
        .object(["phase": .string($0.phase.rawValue), "error": JSON($0.error?.message)])
      }
        ?? .null,
    ]
  }
}

extension InterfaceTraffic {
  /// The bytes of the interface for programs.
  fileprivate var json: JSON {
    ["test": test.json, "download": download?.json ?? .null, "upload": upload?.json ?? .null]
  }
}

extension InterfaceTraffic.Amount {
  fileprivate var json: JSON {
    ["received": .number(Int(clamping: received)), "sent": .number(Int(clamping: sent))]
  }
}

extension SpeedTestResult.Direction {
  fileprivate func json(_ rating: (Double) -> SpeedTestRating) -> JSON {
    let rate = throughput.bitsPerSecond
    return .object([
      "bitsPerSecond": .decimal(rate), "bytes": .decimal(throughput.bytes),
      "nanoseconds": .number(Int(clamping: throughput.nanoseconds)), "totalBytes": .number(Int(clamping: totalBytes)),
      "chunkSize": .number(chunkSize), "rating": .string(rating(rate).words),
      "samples": .list(
        samples.map {
          .list($0.map { .list([.number(Int(clamping: $0.nanoseconds)), .number(Int(clamping: $0.bytes))]) })
        }),
    ])
  }
}

extension Latency {
  fileprivate var json: JSON {
    .object([
      "count": .number(count), "medianMs": .decimal(median / 1e6), "p10Ms": .decimal(p10 / 1e6),
      "p90Ms": .decimal(p90 / 1e6), "jitterMs": .decimal(jitter / 1e6), "shortestMs": .decimal(Double(shortest) / 1e6),
      "rating": .string(SpeedTestRating.ping(nanoseconds: median).words),
    ])
  }
}

extension PingSample {
  fileprivate var json: JSON {
    .object(["clientNs": .number(Int(clamping: client)), "serverNs": .number(Int(clamping: server))])
  }
}
