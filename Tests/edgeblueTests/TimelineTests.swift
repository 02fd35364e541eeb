import Btsnoop
import Foundation
import Testing

@testable import edgeblue

@Suite("The timeline of a recording")
struct TimelineTests {
  private static let recording = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../BtsnoopTests/Recordings/gatt-peer.btsnoop").path

  /// The lines and the objects of the lab's device with every kind of attribute.
  private func shown(
    _ change: (inout CaptureRecord) -> Void = { _ in }
  ) throws -> (entries: [TimelineEntry], report: TrafficReport) {
    var timeline = Timeline(window: 60_000_000)
    var entries: [TimelineEntry] = []
    let problem = try RecordingFile(Self.recording).read { record in
      var record = record
      change(&record)
      entries += timeline.handle(record)
    }
    #expect(problem == nil)
    return (entries + timeline.finish(), TrafficReport(timeline))
  }

  @Test func `the lines say what happened, in order`() throws {
    let texts = try shown().entries.map(\.text)
    var rest = texts[...]
    for beginning in [
      "received FA:0B:00:D4:0C:01, −50 dBm: \"gatt-lab\"", "connects to FA:0B:00:D4:0C:01",
      "connected to FA:0B:00:D4:0C:01, interval",
      "ATT MTU 247", "found the services Generic Access, Generic Attribute", "asks to pair: keyboard and display",
      "the peer agrees to pair", "encrypted",
    ] {
      let found = rest.firstIndex { $0.hasPrefix(beginning) }
      #expect(found != nil, "\(beginning) is not in \(texts)")
      rest = rest[(found.map { $0 + 1 } ?? rest.startIndex)...]
    }
  }

  @Test func `a device that advertises again and again is one line`() throws {
    let texts = try shown().entries.map(\.text)
    #expect(texts.filter { $0.hasPrefix("received ") }.count == 1)
  }

  @Test func `each line is an object for programs`() throws {
    let (entries, report) = try shown()
    for entry in entries {
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(entry.json.line.utf8)) as? [String: Any], "\(entry.text)")
      #expect(object["event"] as? String == entry.event)
      #expect((object["time"] as? String)?.hasSuffix("Z") == true)
    }
    let statistics = try #require(
      try JSONSerialization.jsonObject(with: Data(report.json.line.utf8)) as? [String: Any])
    #expect(statistics["connections"] as? Int == 1)
    let attributes = try #require(statistics["attributes"] as? [[String: Any]])
    #expect(attributes.contains { $0["attribute"] as? String == "Device Name" })
  }

  @Test func `the tables fit a terminal`() throws {
    let lines = try shown().report.lines { text, _ in text }
    #expect(lines.contains { $0.hasPrefix("CHARACTERISTIC") })
    #expect(lines.contains { $0.hasPrefix("ADVERTISER") })
    for line in lines { #expect(line.columns <= 120, "\(line)") }
  }

  @Test func `times are universal in JSON, also before 1970`() {
    #expect(TimelineEntry.timestamp(0) == "1970-01-01T00:00:00.000000Z")
    #expect(TimelineEntry.timestamp(-1) == "1969-12-31T23:59:59.999999Z")
    #expect(TimelineEntry.timestamp(1_764_110_000_123_456) == "2025-11-25T22:33:20.123456Z")
    #expect(!TimelineEntry.timestamp(.max).isEmpty)
    #expect(!TimelineEntry.clock(.min).time.isEmpty)
  }

  /// Notifications of one characteristic, a tenth of a second apart.
  @Test func `repeated notifications are one line with their rate`() {
    var timeline = Timeline(window: 60_000_000)
    var entries: [TimelineEntry] = []
    for number in 0..<101 {
      let bytes: [UInt8] = [1, 0x20, 8, 0, 4, 0, 4, 0, 0x1b, 12, 0, UInt8(number)]
      entries += timeline.handle(
        CaptureRecord(time: Int64(number) * 100_000, adapter: 0, kind: .receivedData, bytes: bytes))
    }
    entries += timeline.finish()
    #expect(entries.map(\.text) == ["101 notifications in 10 s (10/s), 1 byte of attribute 0x000c, last: 64"])
    #expect(entries.first?.fields["count"] == .number(101))
  }

  @Test func `a silence ends a line`() {
    var timeline = Timeline(window: 1_000_000)
    let bytes: [UInt8] = [1, 0x20, 8, 0, 4, 0, 4, 0, 0x1b, 12, 0, 9]
    func send(at time: Int64) -> [TimelineEntry] {
      timeline.handle(CaptureRecord(time: time, adapter: 0, kind: .receivedData, bytes: bytes))
    }
    #expect(send(at: 0).isEmpty)
    #expect(timeline.advance(to: 900_000).isEmpty)
    #expect(timeline.advance(to: 1_100_000).map(\.text) == ["notification of attribute 0x000c: 09"])
    #expect(send(at: 2_000_000).isEmpty)
    #expect(send(at: 4_000_000).count == 1)
  }
}
