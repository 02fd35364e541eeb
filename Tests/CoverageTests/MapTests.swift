import Foundation
import Testing

@testable import Coverage

/// The fences of walks as a map shows them.
@Suite("Maps") struct MapTests {
  /// A stored fence so many metres north of the beginning.
  static func fence(
    _ number: Int, _ metres: Double, _ technology: CoverageTechnology = .lte, ping: Double? = 20, radius: Double = 20
  ) throws -> StoredFence {
    let place = try #require(FenceDriver.place(metres))
    var fence = Fence(
      number: number, place: place, radius: radius, entered: .seconds(Double(number) * 5), technology: technology)
    fence.exited = .seconds(Double(number) * 5 + 5)
    fence.pings.add(PingResult(at: .zero, roundTrip: ping.map { .milliseconds($0) }))
    return StoredFence(fence, runStartUs: 1_800_000_000_000_000)
  }

  static func session(_ id: Int64, run: String? = "r") -> CoverageSession {
    CoverageSession(
      id: id, uuid: "u\(id)", server: "https://c", run: run, startedUs: 0, anchorUs: 0, finalizedUs: 1, fences: 0,
      sending: .init())
  }

  static func map(_ fences: [StoredFence]) -> CoverageMap { CoverageMap([.init(session: session(1), fences: fences)]) }

  /// A walk of fences that touch each other.
  static func walk(_ count: Int) throws -> CoverageMap {
    map(
      try (0..<count).map { number in
        let technology: CoverageTechnology = number % 20 < 3 ? .nr : .lte
        let ping: Double? = number % 9 < 2 ? nil : 30
        return try fence(number + 1, Double(number) * 40, technology, ping: ping)
      })
  }

  @Test("116: many fences from afar are lines, few or near ones circles") func linesFromAfar() {
    #expect(CoverageMap.showsLines(count: 60, span: 0.03))
    #expect(!CoverageMap.showsLines(count: 59, span: 1))
    #expect(!CoverageMap.showsLines(count: 60, span: 0.0299))
  }

  @Test("117, 123: lost coverage and another technology begin a stretch at the fence where the last one ends")
  func splits() throws {
    let map = Self.map([
      try Self.fence(1, 0), try Self.fence(2, 40), try Self.fence(3, 80, ping: nil), try Self.fence(4, 120, ping: nil),
      try Self.fence(5, 160, .nr), try Self.fence(6, 200, .nr),
    ])
    #expect(map.lines.map(\.spots) == [[0, 1, 2], [2, 3, 4], [4, 5]])
    #expect(map.lines.map(\.color) == ["00DEFF", "A0A0A0", "5E00FF"])
    let changed = Self.map([try Self.fence(1, 0, .gsm), try Self.fence(2, 40, .edge), try Self.fence(3, 80, .edge)])
    #expect(changed.lines.map(\.technology) == [.gsm, .edge])
  }

  @Test("118, 119, 120, 126: a region shows what is in it and a tenth around, and one without a size nothing")
  func culling() throws {
    let map = try Self.walk(100)
    let all = CoverageMap.Bounds(south: 47, west: 15, north: 49, east: 17)
    let half = CoverageMap.Bounds(south: 47, west: 15, north: 48, east: 17)
    #expect(map.spots(in: all).count == 100)
    #expect(map.spots(in: half).first == 0)
    let narrow = CoverageMap.Bounds(
      south: 48, west: 15.9, north: 48 + 400 / 111_195.0797, east: 16.1)
    // 400 m, and 40 m more at each edge.
    #expect(map.spots(in: narrow).count == 12)
    #expect(map.spots(in: .init(south: 50, west: 15, north: 51, east: 17)).isEmpty)
    #expect(map.spots(in: .init(south: 48, west: 16, north: 48, east: 16)).isEmpty)
    #expect(map.spots(in: all).count == 100)
  }

  @Test("122, 124: a gap of more than four radii breaks a line, also where the radius is unknown") func gaps() throws {
    let broken = Self.map([try Self.fence(1, 0), try Self.fence(2, 79.9), try Self.fence(3, 160.1)])
    #expect(broken.lines.map(\.spots) == [[0, 1], [2]])
    let unknown = Self.map([try Self.fence(1, 0, radius: 0), try Self.fence(2, 79, radius: 0)])
    #expect(unknown.lines.map(\.spots) == [[0, 1]])
  }

  @Test("121, 125: all fences are there in the order of time, the same ones each time") func order() throws {
    let fences = [try Self.fence(3, 80), try Self.fence(1, 0), try Self.fence(2, 40)]
    #expect(Self.map(fences).spots.map(\.fence.number) == [1, 2, 3])
    #expect(Self.map(fences) == Self.map(fences.reversed()))
  }

  @Test("A session that follows in a run continues the walk; another run does not") func runs() throws {
    let first = [try Self.fence(1, 0)]
    let second = [try Self.fence(2, 40)]
    let joined = CoverageMap([
      .init(session: Self.session(1), fences: first), .init(session: Self.session(2), fences: second),
    ])
    #expect(joined.spots.map(\.joins) == [false, true])
    for run in ["s", nil] {
      let apart = CoverageMap([
        .init(session: Self.session(1, run: run), fences: first), .init(session: Self.session(2), fences: second),
      ])
      #expect(apart.spots.map(\.joins) == [false, false])
    }
  }

  @Test("A walk over the antimeridian stays in one piece") func antimeridian() throws {
    var fences = [try Self.fence(1, 0), try Self.fence(2, 0)]
    fences[0].place = try #require(CoverageLocation(latitude: 0, longitude: 179.9999))
    fences[1].place = try #require(CoverageLocation(latitude: 0, longitude: -179.9999))
    let bounds = try #require(Self.map(fences).bounds)
    #expect(bounds.east - bounds.west < 0.01)
    #expect(Self.map(fences).lines.count == 1)
  }

  @Test("No fence has no region") func nothing() { #expect(Self.map([]).bounds == nil) }

  // MARK: The page

  private func facts(_ map: CoverageMap) throws -> [String: Any] {
    let data = try JSONSerialization.jsonObject(with: CoverageMapPage.data(of: map))
    return try #require(data as? [String: Any])
  }

  @Test("The data of a page has 13 whole numbers for each fence") func data() throws {
    let map = Self.map([try Self.fence(1, 0), try Self.fence(2, 40, .nr, ping: nil)])
    let fences = try #require(try facts(map)["fences"] as? [Int])
    #expect(
      fences == [
        0, 1, 480_000_000, 160_000_000, 200, 0, 5000, 7, 0, 2000, 1, 0, 50,
        0, 2, Int(((48 + 40 / 111_195.0797) * 1e7).rounded()), 160_000_000, 200, 5000, 10_000, 9, 3, -1, 0, 1, 50,
      ])
    #expect(try facts(Self.map([]))["fences"] as? [Int] == [])
  }

  @Test("A text of a server ends neither the data nor the page") func hostileText() throws {
    var session = Self.session(1)
    session.server = "</script><script>alert(1)</script><!--"
    let map = CoverageMap([.init(session: session, fences: [try Self.fence(1, 0)])])
    let page = String(decoding: CoverageMapPage.html(map), as: UTF8.self)
    #expect(!page.contains("alert(1)</script"))
    #expect((try facts(map)["sessions"] as? [[String]])?.first?.last == session.server)
    #expect(CoverageMapPage.Leaflet(script: "a</SCRIPT>", style: "") == nil)
    #expect(CoverageMapPage.Leaflet(script: "", style: "</style>") == nil)
  }

  @Test("A page uses the network for nothing but a background that its reader switches on") func noNetwork() throws {
    let own = String(decoding: CoverageMapPage.html(try Self.walk(3)), as: UTF8.self)
    #expect(own.hasPrefix(CoverageMapPage.mark))
    #expect(own.contains("img-src data:; "))
    for way in ["src=\"", "@import", "fetch("] { #expect(!own.contains(way)) }
    let leaflet = try #require(CoverageMapPage.Leaflet(script: "var L;", style: "b{}"))
    let page = String(decoding: CoverageMapPage.html(try Self.walk(3), leaflet: leaflet), as: UTF8.self)
    #expect(page.contains("img-src data: https://tile.openstreetmap.org; "))
    #expect(page.contains("<script>var L;</script>"))
  }
}
