internal import FoundationEssentials

/// The document that reports the result of a test to a control server.
struct ControlResultBody {
  /// The limits beyond which control servers refuse a result.
  private static let rates: Range<Double> = 1..<800_000_000
  private static let pings: Range<UInt64> = 1..<60_000_000_000
  /// The interval of the samples that are sent, in nanoseconds: all of them would be some megabytes on a fast line.
  static let sampleInterval: UInt64 = 100_000_000

  let record: SpeedTestRecord
  let test: ControlTest
  /// The identifier of the client at the control server.
  let client: String
  let device: ControlDevice
  /// The kind of the network by the numbers of control servers: 98 for a cable, 99 for wireless LAN.
  let networkType: Int

  /// Returns the document.
  /// - Throws: ``SpeedTestError`` with code `.invalidArgument` for a result that every control server refuses: one that is
  ///   not complete, or whose figures are out of the range of the protocol.
  func value() throws(SpeedTestError) -> JSONValue {
    let result = record.result
    guard result.failure == nil, let download = result.download, let upload = result.upload,
      let latency = result.latency, let ends = record.ends
    else {
      throw SpeedTestError(.invalidArgument, "a control server takes complete results alone, with both directions")
    }
    for rate in [download, upload].map(\.throughput.bitsPerSecond) where !Self.rates.contains(rate / 1000) {
      throw SpeedTestError(
        .invalidArgument, "the rate is \(rate / 1000) kbit/s; a control server takes 1 to 799999999 kbit/s")
    }
    guard Self.pings.contains(latency.shortest) else {
      throw SpeedTestError(
        .invalidArgument, "the shortest ping is \(latency.shortest) ns; a control server takes 1 ns to 60 s")
    }
    var members = device.members(client: client)
    members.merge(identity(ends)) { $1 }
    members.merge(figures(download, upload, latency)) { $1 }
    members.merge(samples(download, upload)) { $1 }
    return .object(members)
  }

  private func identity(_ ends: SpeedTestRecord.Ends) -> [String: JSONValue] {
    [
      "client_uuid": .string(client), "test_token": .string(test.token), "time": .integer(record.startMs),
      "test_encryption": .string(ends.tls ?? "NONE"), "test_ip_local": .string(ends.local),
      "test_ip_server": .string(ends.server), "test_port_remote": JSONValue(test.port),
      "network_type": JSONValue(networkType), "test_status": "0", "last_client_status": "SPEEDTEST_END",
      "user_loop_mode": .bool(record.loop != nil),
    ]
  }

  private func figures(
    _ download: SpeedTestResult.Direction, _ upload: SpeedTestResult.Direction, _ latency: Latency
  ) -> [String: JSONValue] {
    var members: [String: JSONValue] = [
      "test_ping_shortest": JSONValue(latency.shortest), "test_num_threads": JSONValue(download.samples.count),
      "num_threads_ul": JSONValue(upload.samples.count),
    ]
    for (name, direction) in [("download", download), ("upload", upload)] {
      let throughput = direction.throughput
      members["test_speed_\(name)"] = .integer(Int64((throughput.bitsPerSecond / 1000).rounded()))
      members["test_nsec_\(name)"] = JSONValue(throughput.nanoseconds)
      members["test_bytes_\(name)"] = JSONValue(UInt64(throughput.bytes.rounded()))
      members["test_total_bytes_\(name)"] = JSONValue(direction.totalBytes)
    }
    members["time_dl_ns"] = record.result.times.map { JSONValue($0.download) }
    members["time_ul_ns"] = record.result.times.map { JSONValue($0.upload) }
    return members
  }

  private func samples(
    _ download: SpeedTestResult.Direction, _ upload: SpeedTestResult.Direction
  ) -> [String: JSONValue] {
    let times = record.result.times?.pings ?? []
    let pings = record.result.pings.enumerated().map { index, ping -> JSONValue in
      var members: [String: JSONValue] = ["value": JSONValue(ping.client), "value_server": JSONValue(ping.server)]
      members["time_ns"] = times.indices.contains(index) ? JSONValue(times[index]) : nil
      return .object(members)
    }
    let details = [("download", download), ("upload", upload)].flatMap { name, direction in
      direction.samples.enumerated().flatMap { thread, samples in
        Self.thinned(samples).map { sample -> JSONValue in
          [
            "direction": .string(name), "thread": JSONValue(thread), "time": JSONValue(sample.nanoseconds),
            "bytes": JSONValue(sample.bytes),
          ]
        }
      }
    }
    return ["pings": .list(pings), "speed_detail": .list(details)]
  }

  /// Returns the last sample of each interval, and so the last of all.
  static func thinned(_ samples: [ThroughputSample]) -> [ThroughputSample] {
    samples.indices.filter { index in
      index + 1 == samples.count
        || samples[index].nanoseconds / sampleInterval != samples[index + 1].nanoseconds / sampleInterval
    }.map { samples[$0] }
  }
}
