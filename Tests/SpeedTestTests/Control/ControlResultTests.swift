import Foundation
import JSONValues
import Places
import Testing

@testable import SpeedTest

/// The document with a result.
@Suite("Results for control servers") struct ControlResultTests {
  private static func grant() throws -> ControlTest {
    try ControlTest([
      "test_token": "a_1_b=", "test_uuid": "8723358c-2037-4029-a70c-91e5d9d35cf3", "test_server_address": "m.example",
      "test_server_port": 443,
    ])
  }

  private static func record(_ change: (inout SpeedTestResult) -> Void = { _ in }) throws -> SpeedTestRecord {
    var result = try ArchiveTests.result()
    result.upload = result.download
    result.times = .init(download: 3, upload: 9, pings: [1, 2])
    change(&result)
    var record = SpeedTestRecord(result, server: "m.example:443", startMs: 1_800_000_000_000, durationMs: 19_000)
    record.ends = .init(server: "192.0.2.1", local: "192.0.2.2", version: "1.6.0", tls: nil)
    return record
  }

  private static func body(_ record: SpeedTestRecord) throws -> JSONValue {
    try ControlResultBody(
      record: record, test: try grant(), client: "client", device: .test, networkType: 98
    ).value()
  }

  @Test("The figures are those of the result, in the units of the protocol") func figures() throws {
    let record = try Self.record()
    let body = try Self.body(record)
    let throughput = try #require(record.result.download?.throughput)
    #expect(body["test_speed_download"]?.integer == Int((throughput.bitsPerSecond / 1000).rounded()))
    #expect(body["test_nsec_upload"]?.integer == 2_000_000_000)
    #expect(body["test_total_bytes_download"]?.integer == 4600)
    #expect(body["test_ping_shortest"]?.integer == 700)
    #expect(body["time_dl_ns"]?.integer == 3)
    #expect(body["time_ul_ns"]?.integer == 9)
    #expect(body["pings"]?.elements?.map { $0["time_ns"]?.integer } == [1, 2])
    #expect(body["pings"]?.elements?.first == ["time_ns": 1, "value": 900, "value_server": 800])
    #expect(body["test_encryption"] == "NONE")
    #expect(body["test_token"] == "a_1_b=")
    #expect(body["test_port_remote"] == 443)
    #expect(body["speed_detail"]?.elements?.count == 8)
    #expect(
      body["speed_detail"]?.elements?.first == [
        "direction": "download", "thread": 0, "time": 1_000_000_000, "bytes": 1000,
      ])
  }

  @Test("A result that every server refuses is not sent") func refusals() throws {
    #expect(throws: SpeedTestError.self) { try Self.body(try Self.record { $0.upload = nil }) }
    #expect(throws: SpeedTestError.self) { try Self.body(try Self.record { $0.pings = [] }) }
    #expect(throws: SpeedTestError.self) {
      try Self.body(try Self.record { $0.pings = [PingSample(client: 60_000_000_000, server: 60_000_000_000)] })
    }
    #expect(throws: SpeedTestError.self) {
      try Self.body(try Self.record { $0.failure = .init(phase: .upload, error: nil) })
    }
    #expect(throws: SpeedTestError.self) {
      try Self.body(
        try Self.record { result in
          let samples = [[ThroughputSample(nanoseconds: 1, bytes: 1 << 40)]]
          result.upload = Throughput(threads: samples).map {
            .init(throughput: $0, samples: samples, totalBytes: 1 << 40, chunkSize: 4096)
          }
        })
    }
  }

  @Test("The encryption has the version and the cipher") func encryption() throws {
    var record = try Self.record()
    record.ends?.tls = "TLSv1.3"
    #expect(try Self.body(record)["test_encryption"] == "TLSv1.3")
    record.ends?.cipher = "TLS_AES_128_GCM_SHA256"
    #expect(try Self.body(record)["test_encryption"] == "TLSv1.3 (TLS_AES_128_GCM_SHA256)")
  }

  @Test("The bytes of the interface are those of the test and of each direction that is known") func traffic() throws {
    var record = try Self.record()
    #expect(try Self.body(record)["test_if_bytes_download"] == nil)
    record.traffic = InterfaceTraffic(
      interface: "eth0", test: .init(received: 5, sent: 6), download: .init(received: 3, sent: 1))
    let body = try Self.body(record)
    #expect(body["test_if_bytes_download"] == 5)
    #expect(body["test_if_bytes_upload"] == 6)
    #expect(body["testdl_if_bytes_download"] == 3)
    #expect(body["testdl_if_bytes_upload"] == 1)
    #expect(body["testul_if_bytes_download"] == nil)
  }

  @Test("Locations have their time, and what the receiver does not know is left out") func locations() throws {
    var record = try Self.record()
    #expect(try Self.body(record)["geoLocations"] == nil)
    let place = try #require(Place(latitude: 48.25, longitude: -16.5))
    var location = SpeedTestRecord.Location(place, provider: "gpsd", nanoseconds: -2_000_000_000)
    location.error = 4.5
    record.locations = [location]
    #expect(
      try Self.body(record)["geoLocations"] == [
        [
          "accuracy": .number(4.5), "geo_lat": .number(48.25), "geo_long": .number(-16.5), "lat": .number(48.25),
          "long": .number(-16.5), "provider": "gpsd", "time_ns": -2_000_000_000, "tstamp": 1_799_999_998_000,
        ]
      ])
  }

  @Test("The samples that are sent are the last ones of each interval") func thinned() {
    let samples = (0..<1000).map { ThroughputSample(nanoseconds: UInt64($0) * 7_000_000, bytes: UInt64($0)) }
    let sent = ControlResultBody.thinned(samples)
    #expect(sent.count == 70)
    #expect(sent.last == samples.last)
    #expect(zip(sent, sent.dropFirst()).allSatisfy { $0.nanoseconds < $1.nanoseconds })
    #expect(ControlResultBody.thinned([]).isEmpty)
  }
}
