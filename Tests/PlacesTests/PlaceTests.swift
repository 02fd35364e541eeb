import Foundation
import Places
import Testing

@Suite("Places on the Earth") struct PlaceTests {
  @Test("Distances fit those of other programs within 0.5 %") func distance() throws {
    let vienna = try #require(Place(latitude: 48.2082, longitude: 16.3738))
    let graz = try #require(Place(latitude: 47.0707, longitude: 15.4395))
    // Of GeographicLib: 145,002 m.
    #expect(abs(vienna.distance(to: graz) - 145_002) < 725)
    #expect(vienna.distance(to: vienna) == 0)
    let west = try #require(Place(latitude: 0, longitude: -179.9))
    let east = try #require(Place(latitude: 0, longitude: 179.9))
    #expect(abs(west.distance(to: east) - 22_239) < 1)
  }

  @Test(
    "Degrees out of their range are no place",
    arguments: [(91, 0), (-91, 0), (0, 181), (0, -181), (.nan, 0), (0, .infinity)] as [(Double, Double)])
  func ranges(latitude: Double, longitude: Double) {
    #expect(Place(latitude: latitude, longitude: longitude) == nil)
  }

  @Test("A place is stored with the names of its degrees, and a corrupt one is refused") func stored() throws {
    let place = try #require(Place(latitude: 48.25, longitude: -16.5))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(place), as: UTF8.self)
    #expect(text == #"{"latitude":48.25,"longitude":-16.5}"#)
    #expect(try JSONDecoder().decode(Place.self, from: Data(text.utf8)) == place)
    let corrupt = Data(#"{"latitude":500,"longitude":0}"#.utf8)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Place.self, from: corrupt) }
  }
}
