import Foundation
import Testing

@testable import Coverage

/// The numbers are those of the acceptance cases of the facts about coverage clients.
@Suite("The documents for control servers") struct DocumentTests {
  private func entry(
    _ place: CoverageLocation, radius: Double = 20, technology: CoverageTechnology = .lte, pings: [Double?] = []
  ) throws -> [String: Any] {
    var fence = Fence(number: 1, place: place, radius: radius, entered: .milliseconds(2500), technology: technology)
    fence.exited = .milliseconds(4000)
    for ping in pings { fence.pings.add(PingResult(at: .zero, roundTrip: ping.map { .microseconds($0 * 1000) })) }
    let stored = StoredFence(fence, runStartUs: 1_000_000_000_000)
    let document = FenceDocument(uuid: "u", anchorUs: 1_000_000_000_000 + 3_000_000, fences: [stored])
    let object = try JSONSerialization.jsonObject(with: try document.data) as? [String: Any]
    #expect(object?["test_uuid"] as? String == "u")
    return try #require((object?["fences"] as? [[String: Any]])?.first)
  }

  private func place(_ accuracy: Double? = nil) throws -> CoverageLocation {
    try #require(CoverageLocation(latitude: 48.2, longitude: 16.3, accuracy: accuracy))
  }

  @Test("210–212: The technology has its name and number; none is 1000, and an unknown one is left out")
  func technologies() throws {
    let lte = try entry(try place())
    #expect(lte["technology"] as? String == "4G/LTE")
    #expect(lte["technology_id"] as? Int == 13)
    let none = try entry(try place(), technology: .none)
    #expect(none["technology"] as? String == "NONE")
    #expect(none["technology_id"] as? Int == 1000)
    let unknown = try entry(try place(), technology: .unknown)
    #expect(unknown["technology"] == nil)
    #expect(unknown["technology_id"] == nil)
  }

  @Test("213–217, 219–221: Figures have their digits, and invalid ones are left out") func figures() throws {
    let full = try #require(
      CoverageLocation(
        latitude: 48.123456789012345, longitude: 16.1, accuracy: 42.98765, altitude: 287.65432198, bearing: 137.6,
        speed: 55.12678))
    let entry = try entry(full, radius: 25)
    let place = try #require(entry["location"] as? [String: Any])
    #expect(entry["radius"] as? Int == 25)
    let latitude = try #require(place["latitude"] as? Double)
    #expect(abs(latitude - full.latitude) < 1e-12)
    #expect(place["accuracy"] as? Double == 43)
    #expect(place["altitude"] as? Double == 287.7)
    #expect(place["bearing"] as? Int == 138)
    #expect(place["heading"] == nil)
    #expect(place["speed"] as? Double == 55.13)
    let bare = try #require(try self.entry(try self.place(-1))["location"] as? [String: Any])
    #expect(bare.keys.sorted() == ["latitude", "longitude"])
  }

  @Test("218, 220: The mean has two digits and a coordinate all of its digits, in the text") func means() throws {
    #expect(try entry(try place(), pings: [10, 10, 11, nil])["avg_ping_ms"] as? Double == 10.33)
    #expect(try entry(try place(), pings: [nil])["avg_ping_ms"] == nil)
    let fence = StoredFence(try StoreFixture.fence(1, at: 0, ping: 9.0999), runStartUs: 0)
    let text = String(decoding: try FenceDocument(uuid: "u", anchorUs: 0, fences: [fence]).data, as: UTF8.self)
    #expect(text.contains(#""avg_ping_ms":9.1,"#))
    // As exactly as a number can be written.
    #expect(text.contains(#""latitude":\#(fence.place.latitude),"#))
  }

  @Test("258: Offsets count from the anchor, and may be negative") func offsets() throws {
    let entry = try entry(try place())
    #expect(entry["offset_ms"] as? Int == -500)
    #expect(entry["duration_ms"] as? Int == 1500)
    #expect(entry["timestamp_microseconds"] as? Int == 1_000_002_500_000)
  }

  @Test("Exports have a line, a feature and a point for each fence") func exports() throws {
    let fixture = try StoreFixture()
    try fixture.session("r", uuid: "a,\"b", fences: 2)
    let session = try fixture.store.sessions()[0]
    let part = CoverageExport.Part(session: session, fences: try fixture.store.fences(of: session.id))
    let lines = String(decoding: CoverageExport.csv([part]), as: UTF8.self).split(separator: "\r\n")
    #expect(lines.count == 3)
    #expect(lines[1].hasPrefix(#"1,"a,""b",1,2027-01-15T08:00:00.000Z,2027-01-15T08:00:05.000Z,"#))
    let json = try JSONSerialization.jsonObject(with: CoverageExport.geoJSON([part])) as? [String: Any]
    let features = try #require(json?["features"] as? [[String: Any]])
    #expect(features.count == 2)
    #expect(
      (features[0]["geometry"] as? [String: Any])?["coordinates"] as? [Double] == [16, part.fences[0].place.latitude])
    let gpx = String(decoding: CoverageExport.gpx([part]), as: UTF8.self)
    #expect(gpx.split(separator: "<trkpt ").count == 3)
    #expect(gpx.contains("<desc>4G/LTE, ping 20.0 ms</desc>"))
  }
}
