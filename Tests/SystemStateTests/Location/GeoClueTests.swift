import DBusTesting
import SystemTesting
import Testing
import Timing

@testable import SystemState

@Suite(
  "GeoClue as a source of locations", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .timeLimit(.minutes(5)))
struct GeoClueTests {
  private static let now: Int64 = 1_790_000_000_000

  private func monitor(
    _ bus: PrivateBus, _ change: (inout LocationMonitor.Options) -> Void = { _ in }
  ) throws -> LocationMonitor {
    var options = LocationMonitor.Options()
    options.bus = .address(bus.address)
    options.backoff = Backoff(base: .milliseconds(5), limit: .milliseconds(20))
    options.wall = { Self.now }
    change(&options)
    return try LocationMonitor(.geoClue(desktopID: "edgeblue"), options)
  }

  private func isFix(_ update: LocationUpdate, _ latitude: Double) -> Bool {
    if case .fix(let fix) = update { fix.latitude == latitude } else { false }
  }

  @Test("Locations are delivered, and again after GeoClue has ended and come back") func comesBack() async throws {
    let bus = try PrivateBus()
    let monitor = try monitor(bus)
    let seen = Watcher(monitor.updates(limit: 1000))
    try await seen.until("no GeoClue yet") {
      $0 == .unavailable(LocationError(.unavailable, "GeoClue: it is not installed"))
    }
    for round in 1...2 {
      let geoClue = try await FakeGeoClue(bus)
      try await seen.until("registered") { $0 == .searching }
      #expect(geoClue.settings["DesktopId"]?.string == "edgeblue")
      #expect(geoClue.settings["RequestedAccuracyLevel"]?.integer() == 8)
      try geoClue.locate(1, FakeGeoClue.values(Double(round), atMs: UInt64(Self.now) + UInt64(round)))
      let update = try await seen.until("a fix") { isFix($0, Double(round)) }
      var fix = try #require(LocationFix(latitude: Double(round), longitude: 16, error: 20))
      fix.measuredAtMs = Self.now + Int64(round)
      #expect(update == .fix(fix))
      geoClue.end()
      try await seen.until("gone") { $0 == .unavailable(LocationError(.unavailable, "GeoClue: it has ended")) }
    }
    monitor.close()
  }

  @Test("A location that GeoClue has kept from earlier does not count, nor does one twice") func stale() async throws {
    let bus = try PrivateBus()
    let geoClue = try await FakeGeoClue(bus)
    try geoClue.locate(1, FakeGeoClue.values(1, atMs: UInt64(Self.now - 31_000)), signals: false)
    let monitor = try monitor(bus)
    let seen = Watcher(monitor.updates(limit: 1000))
    try await seen.until("registered") { $0 == .searching }
    try geoClue.locate(2, FakeGeoClue.values(2, atMs: UInt64(Self.now - 30_000)))
    #expect(isFix(try #require(try await seen.next()), 2))
    try geoClue.locate(3, FakeGeoClue.values(2, atMs: UInt64(Self.now - 30_000)))
    try geoClue.locate(4, FakeGeoClue.values(4, atMs: UInt64(Self.now)))
    #expect(isFix(try #require(try await seen.next()), 4))
    monitor.close()
  }

  @Test("The location that there is already is read") func present() async throws {
    let bus = try PrivateBus()
    let geoClue = try await FakeGeoClue(bus)
    try geoClue.locate(1, FakeGeoClue.values(7, atMs: UInt64(Self.now)), signals: false)
    let monitor = try monitor(bus)
    let seen = Watcher(monitor.updates(limit: 1000))
    try await seen.until("a fix") { isFix($0, 7) }
    monitor.close()
  }

  @Test("Without a permission, and without anybody who could give it, the reason is told")
  func permissions() async throws {
    for (permission, reason) in [
      (FakeGeoClue.Permission.refused, "it does not let this program locate the host"),
      (.none, "no agent permits this program to locate the host"),
      (.noClient, "no agent permits this program to locate the host"),
    ] {
      let bus = try PrivateBus()
      let geoClue = try await FakeGeoClue(bus, permission: permission)
      let monitor = try monitor(bus) { $0.permission = .milliseconds(100) }
      let seen = Watcher(monitor.updates(limit: 1000))
      let update = try await seen.until("the reason") { if case .unavailable = $0 { true } else { false } }
      guard case .unavailable(let error) = update else { return }
      #expect(error.code == .notPermitted)
      #expect(error.message == "GeoClue: \(reason)")
      #expect(error.hint != nil)
      if permission == .refused {
        // It tries again by itself.
        try await eventually("another attempt") { geoClue.starts >= 2 }
      }
      monitor.close()
    }
  }

  @Test(
    "The refusal of another program's GeoClue is a typed error, and ends when its user permits the location",
    .enabled(if: GeoClueProcess.isInstalled, "needs dbus-fast: scripts/python-peers"),
    arguments: [
      (GeoClueProcess.Answer.refused, "it does not let this program locate the host"),
      (.mute, "no agent permits this program to locate the host"),
    ])
  func refusals(answer: GeoClueProcess.Answer, reason: String) async throws {
    let bus = try PrivateBus()
    let geoClue = try await GeoClueProcess(bus, answer)
    let monitor = try monitor(bus) {
      $0.permission = .milliseconds(500)
      $0.wall = LocationMonitor.Options().wall
    }
    let seen = Watcher(monitor.updates(limit: 1000))
    let update = try await seen.until("the refusal") { if case .unavailable = $0 { true } else { false } }
    guard case .unavailable(let error) = update else { return }
    #expect(error.code == .notPermitted)
    #expect(error.category == .notPermitted)
    #expect(error.message == "GeoClue: \(reason)")
    try await geoClue.answer(.granted)
    try await seen.until("a fix") { isFix($0, 48.25) }
    geoClue.end()
    try await seen.until("gone") { if case .unavailable(let error) = $0 { error.code == .unavailable } else { false } }
    monitor.close()
  }
}
