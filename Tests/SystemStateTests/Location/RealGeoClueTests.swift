import DBusTesting
import Testing
import Timing

@testable import SystemState

@Suite(
  "The real GeoClue of this host", .enabled(if: RealGeoClue.isPermitted, "needs root and geoclue-2.0"),
  .timeLimit(.minutes(5)))
struct RealGeoClueTests {
  private func monitor(_ bus: PrivateBus) throws -> LocationMonitor {
    var options = LocationMonitor.Options()
    options.bus = .address(bus.address)
    options.backoff = Backoff(base: .milliseconds(50), limit: .milliseconds(200))
    options.permission = .milliseconds(500)
    return try LocationMonitor(.geoClue(desktopID: "edgeblue"), options)
  }

  /// Answers the next request for a location.
  private func answer(_ locator: LineServer, latitude: Double) async {
    await locator.waitForClient()
    _ = await locator.received()
    let body = #"{"location":{"lat":\#(latitude),"lng":16.5},"accuracy":20.0}"#
    locator.send(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        + "Connection: close\r\n\r\n" + body)
  }

  @Test("It locates a program that its configuration permits as soon as the user has an agent") func locates()
    async throws
  {
    let locator = try LineServer()
    let geoClue = try await RealGeoClue(locator: locator.port)
    let monitor = try monitor(geoClue.bus)
    let seen = Watcher(monitor.updates(limit: 1000))
    let reason = "GeoClue: no agent permits this program to locate the host"
    try await seen.until("the reason") {
      if case .unavailable(let error) = $0 { error.message == reason && error.code == .notPermitted } else { false }
    }
    try await geoClue.addAgent()
    try await seen.until("registered") { $0 == .searching }
    await answer(locator, latitude: 48.25)
    let update = try await seen.until("a fix") { if case .fix = $0 { true } else { false } }
    guard case .fix(let fix) = update else { return }
    #expect(fix.latitude == 48.25)
    #expect(fix.longitude == 16.5)
    #expect(fix.error == 20)
    #expect(fix.altitude == nil)
    #expect(fix.measuredAtMs != nil)
    monitor.close()
  }
}
