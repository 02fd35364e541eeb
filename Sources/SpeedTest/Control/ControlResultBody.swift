internal import FoundationEssentials
internal import JSONValues

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
    members.merge(traffic) { $1 }
    if let locations = record.locations, !locations.isEmpty {
      members["geoLocations"] = .array(locations.map(geoLocation))
    }
    return .object(members)
  }

  private func identity(_ ends: SpeedTestRecord.Ends) -> [String: JSONValue] {
    [
      "client_uuid": .string(client), "test_token": .string(test.token), "time": .number(record.startMs),
      "test_encryption": .string(Self.encryption(ends)), "test_ip_local": .string(ends.local),
      "test_ip_server": .string(ends.server), "test_port_remote": .number(test.port),
      "network_type": .number(networkType), "test_status": "0", "last_client_status": "SPEEDTEST_END",
      "user_loop_mode": .bool(record.loop != nil),
    ]
  }

  private func figures(
    _ download: SpeedTestResult.Direction, _ upload: SpeedTestResult.Direction, _ latency: Latency
  ) -> [String: JSONValue] {
    var members: [String: JSONValue] = [
      "test_ping_shortest": .number(latency.shortest), "test_num_threads": .number(download.samples.count),
      "num_threads_ul": .number(upload.samples.count),
    ]
    for (name, direction) in [("download", download), ("upload", upload)] {
      let throughput = direction.throughput
      members["test_speed_\(name)"] = .number(Int64((throughput.bitsPerSecond / 1000).rounded()))
      members["test_nsec_\(name)"] = .number(throughput.nanoseconds)
      members["test_bytes_\(name)"] = .number(UInt64(throughput.bytes.rounded()))
      members["test_total_bytes_\(name)"] = .number(direction.totalBytes)
    }
    members["time_dl_ns"] = record.result.times.map { .number($0.download) }
    members["time_ul_ns"] = record.result.times.map { .number($0.upload) }
    return members
  }

  private func samples(
    _ download: SpeedTestResult.Direction, _ upload: SpeedTestResult.Direction
  ) -> [String: JSONValue] {
    let times = record.result.times?.pings ?? []
    let pings = record.result.pings.enumerated().map { index, ping -> JSONValue in
      var members: [String: JSONValue] = ["value": .number(ping.client), "value_server": .number(ping.server)]
      members["time_ns"] = times.indices.contains(index) ? .number(times[index]) : nil
      return .object(members)
    }
    let details = [("download", download), ("upload", upload)].flatMap { name, direction in
      direction.samples.enumerated().flatMap { thread, samples in
        Self.thinned(samples).map { sample -> JSONValue in
          [
            "direction": .string(name), "thread": .number(thread), "time": .number(sample.nanoseconds),
            "bytes": .number(sample.bytes),
          ]
        }
      }
    }
    return ["pings": .array(pings), "speed_detail": .array(details)]
  }

  private static func encryption(_ ends: SpeedTestRecord.Ends) -> String {
    guard let tls = ends.tls else { return "NONE" }
    return ends.cipher.map { "\(tls) (\($0))" } ?? tls
  }

  /// The bytes of the interface during the whole test and each direction; those of it that are unknown are left out.
  private var traffic: [String: JSONValue] {
    let amounts = [
      ("test", record.traffic?.test), ("testdl", record.traffic?.download), ("testul", record.traffic?.upload),
    ]
    var members: [String: JSONValue] = [:]
    for case (let name, let amount?) in amounts {
      members["\(name)_if_bytes_download"] = .number(amount.received)
      members["\(name)_if_bytes_upload"] = .number(amount.sent)
    }
    return members
  }

  /// A location, with both names of its degrees: servers do not agree on them.
  private func geoLocation(_ location: SpeedTestRecord.Location) -> JSONValue {
    let latitude = JSONValue.number(location.place.latitude)
    let longitude = JSONValue.number(location.place.longitude)
    var members: [String: JSONValue] = [
      "lat": latitude, "long": longitude, "geo_lat": latitude, "geo_long": longitude,
      "provider": .string(location.provider), "time_ns": .number(location.nanoseconds),
      "tstamp": .number(record.startMs + location.nanoseconds / 1_000_000),
    ]
    members["accuracy"] = location.error.map { .number($0) }
    members["altitude"] = location.altitude.map { .number($0) }
    members["speed"] = location.speed.map { .number($0) }
    members["bearing"] = location.course.map { .number($0) }
    return .object(members)
  }

  /// Returns the last sample of each interval, and so the last of all.
  static func thinned(_ samples: [ThroughputSample]) -> [ThroughputSample] {
    samples.indices.filter { index in
      index + 1 == samples.count
        || samples[index].nanoseconds / sampleInterval != samples[index + 1].nanoseconds / sampleInterval
    }.map { samples[$0] }
  }
}
