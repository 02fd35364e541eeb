import ArgumentParser
import DurableFiles
import Foundation
import Streams
import Testing
import Uploads

@testable import SpeedTest
@testable import edgeblue

@Suite("The loop's options and text") struct LoopTests {
  private func options(_ words: String...) throws -> LoopOptions { try LoopOptions.parse(words) }

  @Test("The plan has the defaults, and the distance needs a source of locations") func thePlan() throws {
    let plain = try options().plan()
    #expect(plain.tests == 50)
    #expect(plain.delay == .seconds(900))
    #expect(plain.movement == nil)
    #expect(try options("--gpsd", "127.0.0.1").plan().movement == 250)
    #expect(try options("--track", "walk.gpx", "--metres", "25").plan().movement == 25)
    #expect(try options("--geoclue").plan().movement == 250)
    #expect(try options("--place", "48.2,16.37").plan().movement == nil)
  }

  @Test(
    "Numbers out of their range and options that exclude each other are refused",
    arguments: [
      ["--tests", "0"], ["--tests", "501"], ["--minutes", "4"], ["--minutes", "1441"], ["--metres", "100"],
      ["--gpsd", "h", "--metres", "24"], ["--gpsd", "h", "--metres", "10001"], ["--gpsd", "h", "--track", "t"],
      ["--geoclue", "--gpsd", "h"],
      ["--track-speed", "2"], ["--place", "91,0"], ["--place", "1"], ["--night", "22:00"], ["--night", "24:00-07:00"],
      ["--night", "07:00-07:00"], ["--gpsd", "h:0"],
    ])
  func refused(words: [String]) {
    #expect(throws: (any Error).self) { try LoopOptions.parse(words) }
  }

  @Test("Sources of locations have their own options") func sources() throws {
    #expect(try options("--gpsd", "[::1]:2000").location?.source == .gpsd(host: "::1", port: 2000))
    #expect(try options("--gpsd", "gps.local").location?.source == .gpsd(host: "gps.local", port: 2947))
    #expect(
      try options("--track", "/t.gpx", "--track-speed", "2").location?.source == .track(path: "/t.gpx", speed: 2))
    #expect(try options("--geoclue").location?.source == .geoClue(desktopID: "edgeblue"))
    guard case .fixed(let fix)? = try options("--place", "-48.5,16").location?.source else {
      Issue.record("no place")
      return
    }
    #expect(fix.latitude == -48.5)
    #expect(try options("--night", "22:30-07:00").night == LoopNightHours(from: 1350, to: 420))
  }

  @Test("A plan is told in minutes, and in seconds where it has no whole ones") func planWords() throws {
    #expect(try options().plan().words == "50 tests, one each 15 minutes")
    #expect(try options("--gpsd", "h", "--tests", "3").plan().words == "3 tests, one each 15 minutes or 250 m")
    #expect(try options("--delay-seconds", "1").plan().words == "50 tests, one each 1.0 s")
  }

  @Test("The lines of a picture end at a test that failed") func pictureWithAGap() throws {
    let rates: [Double?] = [8e6, 9e6, nil, 7e6, 8e6, 9e6]
    var state = LoopState(id: UUID(), plan: try options().plan(), at: LoopInstant(wallMs: 0, boot: "b", bootMs: 0))
    let history = rates.enumerated().map { index, rate in
      """
      {"number": \(index + 1), "attempt": 1, "trigger": "time", "startMs": \(index * 900_000), "outcome": \
      {"alongside": [], "status": \(rate.map { "\"completed\", \"download\": \($0)" } ?? "\"failed\"")}}
      """
    }
    state.history = try JSONDecoder().decode([LoopTest].self, from: Data("[\(history.joined(separator: ","))]".utf8))
    let svg = LoopPicture(state, server: "s").svg
    let lines = svg.matches(of: /<path d="M([^"]*)" fill="none" stroke="#[0-9a-f]+" stroke-width="1.6"/)
    #expect(lines.map { $0.1.split(separator: "L").count } == [2, 3])
    #expect(svg.matches(of: /<circle/).count == 5)
  }

  @Test("A program without a session knows of nobody") func presence() {
    #expect(LoopPresence(.init(phase: .foreground, reason: .headless)) == .away)
    #expect(LoopPresence(.init(phase: .foreground, reason: .active)) == .present)
    #expect(LoopPresence(.init(phase: .foreground, reason: .user)) == .present)
    #expect(LoopPresence(.init(phase: .background, reason: .locked)) == .away)
    #expect(LoopPresence(.init(phase: .suspending, reason: .sleep)) == .suspending)
  }

  @Test("Values with commas and quotes are quoted in CSV") func csv() {
    #expect(CSV.line(["1", nil, "a,b", "say \"x\"", "plain"]) == "1,,\"a,b\",\"say \"\"x\"\"\",plain")
  }

  @Test("Durations have their two largest units") func durations() {
    #expect(LoopStatus.words(.seconds(20)) == "1 min")
    #expect(LoopStatus.words(.seconds(59 * 60)) == "59 min")
    #expect(LoopStatus.words(.seconds(12.4 * 3600)) == "12 h 24 min")
    #expect(LoopStatus.words(.seconds(50 * 3600)) == "2 days 2 h")
  }

  @Test("Axes end at round numbers, which their labels show") func axes() {
    #expect(Chart.end(94.3) == 100)
    #expect(Chart.end(0) == 1)
    #expect(Chart.end(0.013) == 0.015)
    #expect(Chart.step(0.7) == 1)
    #expect(SpeedTestPicture.number(0.25) == "0.25")
    #expect(SpeedTestPicture.number(100) == "100")
  }

  /// A server of S3 that looks at the announcements while it is sent something.
  private struct LookingServer: S3Transport {
    let folder: String
    let seen = Lock<[Int]>([])

    func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
      let held = try SystemFiles.entries(of: folder).count { try FileLock.isHeld(path: "\(folder)/\($0)") }
      seen.withLock { $0.append(held) }
      return S3Response(status: 200)
    }
  }

  @Test("An upload is announced while it sends, and small requests are not") func announcedUploads() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "use-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = LookingServer(folder: folder)
    let transport = AnnouncingTransport(server, folder: folder)
    var request = S3Request("PUT", authority: "127.0.0.1")
    for size in [100, 64 << 10, 100] {
      request.body = .bytes(Data(count: size))
      _ = try await transport.send(request, S3Progress())
    }
    #expect(server.seen.withLock { $0 } == [0, 1, 0])
  }

  @Test("Programs that transfer are named while they do, and this one is not") func networkUse() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "use-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(NetworkUse.others(in: folder) == [])
    let own = try #require(NetworkUse.announce("upload", in: folder))
    #expect(NetworkUse.others(in: folder) == [])
    let other = try #require(try FileLock(path: folder + "/agent-1.lock"))
    #expect(NetworkUse.others(in: folder) == ["agent"])
    other.release()
    #expect(NetworkUse.others(in: folder) == [])
    own.release()
    #expect(NetworkUse.merged(["b"], ["a", "b"]) == ["a", "b"])
    _ = NetworkUse.announce("record", in: folder)
    #expect(SystemFiles.entries(of: folder).count == 1, "locks of processes that ended are removed")
  }
}
