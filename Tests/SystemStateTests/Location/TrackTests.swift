import DeterministicTesting
import Foundation
import Testing
import Timing

@testable import SystemState

@Suite("Tracks in files") struct TrackTests {
  private func sentence(_ text: String) -> String {
    let sum = text.utf8.reduce(UInt8(0), ^)
    let digits = String(sum, radix: 16, uppercase: true)
    return "$\(text)*\(digits.count == 1 ? "0" : "")\(digits)\r\n"
  }

  @Test("The points of a GPX file have their places, times and errors") func gpx() throws {
    let text = """
      <?xml version="1.0"?><gpx version="1.1" creator="a > b"><wpt lat="9" lon="9"/><trk><name>&lt;x</name><trkseg>
      <trkpt lat="48.2" lon="16.4"><ele>171.5</ele><time>2026-11-25T12:00:00Z</time><hdop>1.5</hdop></trkpt>
      <trkpt lon='16.5'  lat='-48.3' ><time> 2026-11-25T12:00:02.500Z </time></trkpt>
      <trkpt lat="48.4" lon="16.6"/><trkpt lat="95" lon="16.6"/><trkpt lat="48.5"/>
      </trkseg></trk></gpx>
      """
    let track = try #require(Track(Array(text.utf8)))
    #expect(track.points.map(\.fix.latitude) == [48.2, -48.3, 48.4])
    #expect(track.points.map(\.fix.longitude) == [16.4, 16.5, 16.6])
    #expect(track.points.map(\.fix.error) == [28.5, 10, 10])
    #expect(track.points.map(\.offset) == [.zero, .milliseconds(2500), .milliseconds(3500)])
    #expect(track.points[0].fix.altitude == 171.5)
    #expect(track.points[0].fix.measuredAtMs == 1_795_608_000_000)
  }

  @Test("The sentences of one second are one location") func nmea() throws {
    let text =
      sentence("GPGGA,120000.00,4812.000,N,01622.000,E,1,08,1.0,200.5,M,45.0,M,,")
      + sentence("GPRMC,120000.00,A,4812.000,N,01622.000,E,10.0,90.0,251126,,,A")
      + sentence("GNRMC,120003.50,A,4812.000,S,01622.000,W,,,251126,,,A")
      + sentence("GPRMC,120005.00,V,,,,,,,251126,,,N") + "$GPRMC,120006,A,4812,N,01622,E,,,251126*00\n$garbage\n"
      + sentence("GPGSV,1,1,00") + sentence("GPGGA,120007.00,4812.000,N,01622.000,E,0,,,,,,,,")
    let track = try #require(Track(Array(text.utf8)))
    #expect(track.points.count == 2)
    let first = track.points[0].fix
    #expect(abs(first.latitude - 48.2) < 1e-9)
    #expect(abs(first.longitude - 16.366666667) < 1e-9)
    #expect(first.error == 19)
    #expect(first.altitude == 200.5)
    #expect(abs((first.speed ?? 0) - 5.14444) < 1e-9)
    #expect(first.course == 90)
    #expect(first.measuredAtMs == 1_795_608_000_000)
    #expect(track.points[1].fix.latitude == -first.latitude)
    #expect(track.points[1].fix.longitude == -first.longitude)
    #expect(track.points[1].offset == .milliseconds(3500))
  }

  @Test(
    "What a logger writes before the first sentence, or an editor before the first tag, is passed over",
    arguments: ["# u-blox 8, 2026-11-25\r\n", "!AIVDM,1,1,,B,x,0*00\n", "\u{feff}", "\u{feff}# x\n", "\n\n"])
  func beginnings(text: String) throws {
    let sentence = sentence("GPRMC,120000.00,A,4812.000,N,01622.000,E,10.0,90.0,251126,,,A")
    #expect(try #require(Track(Array((text + sentence).utf8))).points.count == 1)
    guard !text.contains(where: { "#!".contains($0) }) else { return }
    #expect(try #require(Track(Array((text + "<gpx><trkpt lat='1' lon='2'/></gpx>").utf8))).points.count == 1)
  }

  @Test("Midnight in a track is not the past") func midnight() throws {
    let text =
      sentence("GPRMC,235959,A,4812.000,N,01622.000,E,,,281227,,,A")
      + sentence("GPGGA,000001,4812.000,N,01622.000,E,1,08,1.0,200,M,45.0,M,,")
      + sentence("GPRMC,000001,A,4812.000,N,01622.000,E,,,291227,,,A")
    #expect(try #require(Track(Array(text.utf8))).points.map(\.offset) == [.zero, .seconds(2)])
  }

  @Test(
    "What is no track is refused",
    arguments: ["", "hello", "<gpx></gpx>", "$GPRMC,1,A*00", "<trkpt", "<trkpt lat='1' lon='2'"])
  func noTrack(text: String) {
    #expect(Track(Array(text.utf8)) == nil)
  }

  @Test("A file that is missing or no track has its own error") func files() throws {
    let folder = try Folder()
    let path = folder.path + "/walk.gpx"
    #expect(throws: LocationError.self) { try LocationMonitor(.track(path: path, speed: 1)) }
    try Data("hello".utf8).write(to: URL(filePath: path))
    let error = #expect(throws: LocationError.self) { try LocationMonitor(.track(path: path, speed: 1)) }
    #expect(error?.code == .invalidArgument)
    #expect(throws: LocationError.self) { try LocationMonitor(.track(path: path, speed: 0)) }
    #expect(throws: LocationError.self) { try LocationMonitor(.gpsd(host: "127.0.0.1", port: 0)) }
  }

  @Test("A track is played at the pace of its times, divided by the speed") func play() async throws {
    let folder = try Folder()
    let path = folder.path + "/walk.gpx"
    let points = (0..<3).map { "<trkpt lat=\"\($0)\" lon=\"0\"><time>2026-11-25T12:00:0\($0 * 4)Z</time></trkpt>" }
    try Data(points.joined().utf8).write(to: URL(filePath: path))
    let clock = ManualClock()
    var options = LocationMonitor.Options()
    options.time = TimeSource(clock)
    let monitor = try LocationMonitor(.track(path: path, speed: 2), options)
    let seen = Watcher(monitor.updates())
    var latitudes: [Double] = []
    for second in [0, 2, 4] {
      if second > 0 { await clock.advance(toSleeperAt: .seconds(second)) }
      if case .fix(let fix) = try #require(try await seen.next()) { latitudes.append(fix.latitude) }
    }
    #expect(latitudes == [0, 1, 2])
    #expect(try await seen.next() == .ended)
    #expect(try await seen.next() == nil)
  }

  @Test("Any bytes end no process") func anyBytes() {
    var random = SeededGenerator(seed: 18)
    let good = [
      "<trkpt lat=\"1\" lon=\"2\"><ele>3</ele><time>2026-11-25T12:00:00Z</time></trkpt>",
      sentence("GPRMC,120000.00,A,4812.000,N,01622.000,E,10.0,90.0,251126,,,A"),
    ]
    for text in good {
      for _ in 0..<3000 {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
        }
        _ = Track(bytes)
        _ = NMEAReader.fixes(in: bytes[...])
      }
    }
  }
}
