import DeterministicTesting
import Foundation
import SystemTesting
import Testing
import Timing

@testable import SystemState

@Suite("The location monitor") struct LocationMonitorTests {
  private static let watch = #"{"class":"WATCH","enable":true,"json":true}"# + "\n"

  private func options() -> LocationMonitor.Options {
    var options = LocationMonitor.Options()
    options.backoff = Backoff(base: .milliseconds(5), limit: .milliseconds(20))
    return options
  }

  private func report(_ latitude: Double) -> String {
    #"{"class":"TPV","mode":2,"lat":\#(latitude),"lon":16,"eph":5}"# + "\n"
  }

  private func isFix(_ update: LocationUpdate, _ latitude: Double) -> Bool {
    if case .fix(let fix) = update { fix.latitude == latitude } else { false }
  }

  private func isUnavailable(_ update: LocationUpdate) -> Bool {
    if case .unavailable = update { true } else { false }
  }

  @Test("The stream goes on when gpsd comes, goes and comes back") func comesBack() async throws {
    let port = Int(try LoopbackPort.free())
    let monitor = try LocationMonitor(.gpsd(host: "127.0.0.1", port: port), options())
    let seen = Watcher(monitor.updates(limit: 1000))
    try await seen.until("no gpsd yet") { isUnavailable($0) }
    for round in 1...3 {
      let gpsd = try LineServer(port: port)
      await gpsd.waitForClient()
      #expect(await gpsd.received() == GPSDMachine.watch)
      gpsd.send(Self.watch)
      try await seen.until("searching") { $0 == .searching }
      gpsd.send(report(Double(round)))
      try await seen.until("a fix") { isFix($0, Double(round)) }
      gpsd.close()
      try await seen.until("gone again") { isUnavailable($0) }
    }
    monitor.close()
    // Between the loss and the close a new attempt may have failed for another reason.
    while let update = try await seen.next() { #expect(isUnavailable(update)) }
  }

  @Test("A gpsd that says nothing is asked, and left when it does not reply") func aSilentGPSD() async throws {
    let gpsd = try LineServer()
    defer { gpsd.close() }
    var options = options()
    options.silence = (.milliseconds(20), .milliseconds(20))
    let monitor = try LocationMonitor(.gpsd(host: "127.0.0.1", port: gpsd.port), options)
    let seen = Watcher(monitor.updates(limit: 1000))
    let update = try await seen.until("left") { isUnavailable($0) }
    let text = "gpsd at 127.0.0.1:\(gpsd.port): no answer within 0 s"
    #expect(update == .unavailable(LocationError(.unavailable, text)))
    await gpsd.waitForClient()
    // It tries again by itself.
    await gpsd.waitForClient()
  }

  @Test("What is no gpsd is named as such") func anotherServer() async throws {
    let server = try LineServer()
    defer { server.close() }
    let monitor = try LocationMonitor(.gpsd(host: "127.0.0.1", port: server.port), options())
    let seen = Watcher(monitor.updates(limit: 1000))
    await server.waitForClient()
    server.send("SSH-2.0-OpenSSH_9.2p1\r\n")
    let text = "gpsd at 127.0.0.1:\(server.port): a line is no report of gpsd"
    try await seen.until("refused") { $0 == .unavailable(LocationError(.unavailable, text)) }
  }

  @Test("A closed monitor leaves no connection") func close() async throws {
    let gpsd = try LineServer()
    defer { gpsd.close() }
    let monitor = try LocationMonitor(.gpsd(host: "127.0.0.1", port: gpsd.port), options())
    await gpsd.waitForClient()
    #expect(await gpsd.received() == GPSDMachine.watch)
    monitor.close()
    // The end of the connection.
    #expect(await gpsd.received() == "")
  }

  @Test("A fixed place is delivered again and again") func fixed() async throws {
    let clock = ManualClock()
    var options = options()
    options.time = TimeSource(clock)
    let place = try #require(LocationFix(latitude: 1, longitude: 2, error: 0))
    let monitor = try LocationMonitor(.fixed(place), options)
    let seen = Watcher(monitor.updates())
    #expect(try await seen.next() == .fix(place))
    await clock.advance(toSleeperAt: .seconds(10))
    #expect(try await seen.next() == .fix(place))
    monitor.close()
    #expect(try await seen.next() == nil)
  }
}

@Suite("The location monitor at a real gpsd", .enabled(if: ChildProcess.path(of: "gpsd") != nil, "needs gpsd"))
struct RealGPSDTests {
  @Test("Locations of a receiver arrive, and again after gpsd was killed") func realGPSD() async throws {
    let receiver = try LineServer()
    defer { receiver.close() }
    let port = Int(try LoopbackPort.free())
    var options = LocationMonitor.Options()
    options.backoff = Backoff(base: .milliseconds(50), limit: .milliseconds(200))
    let monitor = try LocationMonitor(.gpsd(host: "127.0.0.1", port: port), options)
    defer { monitor.close() }
    let seen = Watcher(monitor.updates(limit: 1000))
    let sending = Task {
      for second in 0... {
        receiver.send(Self.sentences(second))
        try await Task.sleep(for: .milliseconds(100), clock: .steady)
      }
    }
    defer { sending.cancel() }
    for _ in 1...2 {
      let gpsd = try ChildProcess("gpsd", ["-N", "-n", "-S", "\(port)", "tcp://127.0.0.1:\(receiver.port)"])
      defer { gpsd.kill() }
      // The first report comes before gpsd has an estimate of the error.
      let update = try await seen.until("a location with its error") {
        if case .fix(let fix) = $0 { fix.error != nil } else { false }
      }
      guard case .fix(let fix) = update else { continue }
      #expect(abs(fix.latitude - 48.2) < 0.1)
      #expect(abs(fix.longitude - 16.366) < 0.001)
      #expect((1...50).contains(fix.error ?? 0), "HDOP 1 is an error of some metres")
      #expect(fix.measuredAtMs != nil)
      gpsd.kill()
      await gpsd.wait()
      try await seen.until("gone") { if case .unavailable = $0 { true } else { false } }
    }
  }

  /// A receiver's sentences of one second, on a walk to the north.
  private static func sentences(_ second: Int) -> String {
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let time = "\(two(10 + second / 3600 % 12))\(two(second / 60 % 60))\(two(second % 60)).00"
    let latitude = "4812.\(two(second % 100))00"
    return [
      "GPRMC,\(time),A,\(latitude),N,01622.0000,E,5.0,0.0,251126,,,A",
      "GPGGA,\(time),\(latitude),N,01622.0000,E,1,08,1.0,200.0,M,45.0,M,,",
      "GPGSA,A,3,01,02,03,04,05,06,07,08,,,,,1.8,1.0,1.5",
    ].map { text in
      let digits = String(text.utf8.reduce(UInt8(0), ^), radix: 16, uppercase: true)
      return "$\(text)*\(digits.count == 1 ? "0" : "")\(digits)\r\n"
    }.joined()
  }
}
