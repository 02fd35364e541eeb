import Agent
import AudioIngestTesting
import DeterministicTesting
import Foundation
import JSONValues
import Logging
import NetworkPath
import SpeedTestNIO
import Streams
import SystemState
import SystemTesting
import Testing
import Timing

@testable import Coverage
@testable import edgeblue

/// A control server in memory that takes each session once.
private final class FakeControl: CoverageTransport {
  struct State {
    var isReachable = true
    /// The port of the server of pings.
    var port = 9
    var granted: Set<String> = []
    /// The sessions that were taken, and all results that came.
    var taken: [String] = []
    var posted: [String] = []
    var next = 0
  }

  let state = Lock(State())
  let requests = UpdateFeed(0)
  let results = UpdateFeed<[String]>([])

  var taken: [String] { state.withLock { $0.taken } }

  func post(_ route: CoverageRoute, members: Data) async throws -> ControlReply {
    let object = try JSONSerialization.jsonObject(with: members) as? [String: Any] ?? [:]
    guard state.withLock({ $0.isReachable }) else { throw CoverageError(.unreachable, "no server responds") }
    let reply = state.withLock { state in
      route == .request ? Self.grant(&state) : Self.take(object["test_uuid"] as? String ?? "", &state)
    }
    if route == .request { requests.publish(state.withLock { $0.next }) } else { results.publish(taken) }
    return reply
  }

  private static func grant(_ state: inout State) -> ControlReply {
    state.next += 1
    state.granted.insert("u\(state.next)")
    let token = Data(repeating: 7, count: 16).base64EncodedString()
    let text = """
      {"test_uuid":"u\(state.next)","ping_token":"\(token)","ping_host":"127.0.0.1","ping_port":"\(state.port)"}
      """
    return ControlReply(status: 201, body: Data(text.utf8))
  }

  private static func take(_ uuid: String, _ state: inout State) -> ControlReply {
    state.posted.append(uuid)
    guard state.granted.remove(uuid) != nil else {
      return ControlReply(status: 400, body: Data(#"{"error":["No started test found by id \#(uuid)"]}"#.utf8))
    }
    state.taken.append(uuid)
    return ControlReply(status: 200, body: Data("{}".utf8))
  }
}

/// A measurement whose surroundings a test moves.
private final class CoverageBench: Sendable {
  static let server = "http://127.0.0.1:1/S"

  let temporary: TemporaryFolder
  let control = FakeControl()
  let locations = UpdateFeed<LocationUpdate>()
  let tests = UpdateFeed(false)
  let statuses = UpdateFeed<CoverageMeasurementStatus>()

  var path: String { temporary.path + "/coverage.sqlite" }

  init() throws { temporary = try TemporaryFolder() }

  func store() throws(CoverageError) -> CoverageStore { try CoverageStore(path: path) }

  func parts() throws -> CoverageParts {
    let path = PathSnapshot(status: .satisfied)
    let none = UpdateFeed<CellularUpdate>()
    let still = UpdateFeed(PathUpdate(number: 1, path: path))
    let sources = CoverageSources(
      locations: { [locations] in locations.updates(limit: 64) }, path: { path },
      paths: { still.updates(limit: 4) }, modem: { nil }, modems: { none.updates(limit: 4) },
      tests: tests)
    return CoverageParts(
      store: try store(), server: Self.server, transport: control, options: CoverageRun.Options(), sources: sources)
  }

  func coverage(
    report: Duration = .milliseconds(10), clock: TimeSource = .continuous,
    open: (@Sendable () throws -> CoverageParts)? = nil
  ) -> AgentCoverage {
    var times = AgentCoverage.Times()
    times.pause = .milliseconds(20)
    times.busy = .milliseconds(20)
    times.report = report
    return AgentCoverage(Terminal(json: true), times: times, clock: clock, open: open ?? { try self.parts() })
  }

  /// Runs a measurement beside a server of pings while a body runs, then ends it in order.
  func running(
    _ coverage: AgentCoverage? = nil, _ body: @escaping @Sendable (CoverageBench) async throws -> Void
  ) async throws {
    var options = SpeedTestServer.Options(address: "127.0.0.1", port: 0, access: .open)
    options.pingPort = 0
    let pings = try await SpeedTestServer.start(options, logger: Logger(label: "test"))
    control.state.withLock { $0.port = pings.pingPort ?? 9 }
    let coverage = coverage ?? self.coverage()
    let task = Task { await coverage.run { self.statuses.publish($0) } }
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await within { try await body(self) }) } catch { outcome = .failure(error) }
    task.cancel()
    await task.value
    await pings.stop()
    try outcome.get()
    // Nothing was sent twice.
    let posted = control.state.withLock { $0.posted }
    #expect(Set(posted).count == posted.count)
  }

  @discardableResult
  func until(_ isWanted: @Sendable (CoverageMeasurementStatus) -> Bool) async throws -> CoverageMeasurementStatus {
    for await status in statuses.updates(limit: 64) where isWanted(status) { return status }
    throw CancellationError()
  }

  func untilTaken(_ uuids: [String]) async throws {
    for await taken in control.results.updates(limit: 64) where taken == uuids { return }
    throw CancellationError()
  }

  func move(to longitude: Double, error: Double? = 4) throws {
    locations.publish(.fix(try #require(LocationFix(latitude: 48.2, longitude: longitude, error: error))))
  }

  /// Stores a session that a killed program has left.
  func leave(_ uuid: String) throws {
    let store = try store()
    let run = CoverageRunID(
      id: "killed", server: Self.server, startUs: (WallClock.unixMilliseconds() - 60_000) * 1000)
    try store.begin(run)
    try store.apply([.assign(uuid)], of: run, at: .zero)
    let place = try #require(CoverageLocation(latitude: 48.2, longitude: 16.3, accuracy: 4))
    var fence = Fence(number: 1, place: place, radius: 18, entered: .seconds(1), technology: .lte)
    fence.exited = .seconds(10)
    fence.pings.add(PingResult(at: .seconds(2), roundTrip: .milliseconds(10)))
    try store.apply([.add(fence)], of: run, at: .seconds(10))
    control.state.withLock { _ = $0.granted.insert(uuid) }
  }
}

@Suite("The coverage measurement of the agent", .timeLimit(.minutes(5))) struct AgentCoverageTests {
  private let bench: CoverageBench

  init() throws { bench = try CoverageBench() }

  @Test("It waits for a precise location, then measures, and reports its figures") func begins() async throws {
    try await bench.running { bench in
      try await bench.until { $0.state == "noLocation" }
      try bench.move(to: 16.3, error: 40)
      try await bench.until { $0.state == "imprecise" }
      try bench.move(to: 16.3)
      let status = try await bench.until { $0.session != nil && $0.pings["answered", default: 0] >= 3 }
      #expect(status.state == "measuring")
      #expect(status.session == "u1")
      #expect(status.technology == "UNKNOWN")
      #expect(status.fences == 1)
      #expect(status.problem == nil)
    }
  }

  @Test("Its end finishes the run, and the server has the session once") func ends() async throws {
    try await bench.running { bench in
      try bench.move(to: 16.3)
      try await bench.until { $0.session == "u1" && $0.fences == 1 }
    }
    #expect(bench.control.taken == ["u1"])
    #expect(try bench.store().sessions().isEmpty)
  }

  @Test("An end without a server leaves the session finished, and the next start sends it once") func restart()
    async throws
  {
    try await bench.running { bench in
      try bench.move(to: 16.3)
      try await bench.until { $0.session == "u1" && $0.fences == 1 }
      bench.control.state.withLock { $0.isReachable = false }
    }
    let left = try #require(try bench.store().sessions().first)
    #expect(left.finalizedUs != nil)
    #expect(left.fences == 1)
    bench.control.state.withLock { $0.isReachable = true }
    // The delay after the failure is over.
    try bench.store().postpone(left.id, CoverageSession.Sending())
    try await bench.running { bench in try await bench.untilTaken(["u1"]) }
    #expect(bench.control.taken.first == "u1")
    #expect(try bench.store().sessions().allSatisfy { $0.fences == 0 })
  }

  @Test("What a killed agent has left is finished and sent at the next start, without a location") func killed()
    async throws
  {
    try bench.leave("u0")
    try await bench.running { bench in
      let status = try await bench.until { $0.sendings["delivered"] == 1 && $0.waiting == 0 }
      #expect(status.state == "noLocation")
    }
    #expect(bench.control.taken == ["u0"])
  }

  @Test("A store with which another program measures is reported, and used when it is free") func busy() async throws {
    let lock = try #require(try bench.store().lockForRun())
    try bench.move(to: 16.3)
    try await bench.running { bench in
      let status = try await bench.until { $0.state == "busy" }
      #expect(status.problem?.contains("another program measures") == true)
      #expect(status.fences == 0)
      lock.release()
      let free = try await bench.until { $0.session == "u1" }
      #expect(free.state == "measuring")
      #expect(free.problem == nil)
    }
    #expect(bench.control.taken == ["u1"])
  }

  @Test("A server that cannot be reached is reported, and loses nothing") func unreachable() async throws {
    bench.control.state.withLock { $0.isReachable = false }
    try bench.move(to: 16.3)
    try await bench.running { bench in
      let status = try await bench.until { $0.problem != nil && $0.fences == 1 }
      #expect(status.problem == "no server responds")
      #expect(status.state == "measuring")
      #expect(status.session == nil)
      bench.control.state.withLock { $0.isReachable = true }
      let back = try await bench.until { $0.session == "u1" }
      #expect(back.problem == nil)
    }
    #expect(bench.control.taken == ["u1"])
  }

  @Test("A store that cannot be opened is reported, and opened again") func fullDisk() async throws {
    let isFull = Lock(true)
    let coverage = bench.coverage { [bench] in
      guard !isFull.withLock({ $0 }) else { throw CoverageError(.noSpace, "no space left on the disk") }
      return try bench.parts()
    }
    try bench.move(to: 16.3)
    try await bench.running(coverage) { bench in
      let full = try await bench.until { $0.state == "failed" }
      #expect(full.problem == "no space left on the disk")
      isFull.withLock { $0 = false }
      let status = try await bench.until { $0.session == "u1" }
      #expect(status.problem == nil)
    }
    #expect(bench.control.taken == ["u1"])
  }

  @Test("A source of locations that goes away is reported, and followed when it is back") func source() async throws {
    try bench.move(to: 16.3)
    try await bench.running { bench in
      try await bench.until { $0.fences == 1 }
      bench.locations.publish(.unavailable(LocationError(.unavailable, "gpsd has gone")))
      let status = try await bench.until { $0.state == "noLocation" }
      #expect(status.problem == "gpsd has gone")
      try bench.move(to: 16.4)
      let back = try await bench.until { $0.fences == 2 }
      #expect(back.state == "measuring")
      #expect(back.problem == nil)
    }
    #expect(bench.control.taken == ["u1"])
  }

  @Test("The end of a track ends the run, and what it measured is sent while the agent goes on") func track()
    async throws
  {
    try bench.move(to: 16.3)
    try await bench.running { bench in
      try await bench.until { $0.session == "u1" && $0.fences == 1 }
      bench.locations.publish(.ended)
      try await bench.untilTaken(["u1"])
      let status = try await bench.until { $0.state == "ended" && $0.waiting == 0 }
      #expect(status.session == nil)
    }
    #expect(bench.control.taken == ["u1"])
  }

  @Test("While a speed test of the loop fills the line, pings belong to no place") func speedTest() async throws {
    bench.tests.publish(true)
    try bench.move(to: 16.3)
    let coverage = bench.coverage()
    try await bench.running(coverage) { bench in
      let status = try await bench.until { $0.pings["answered", default: 0] >= 5 }
      #expect(status.state == "speedTest")
      #expect(status.fences == 0)
      bench.control.state.withLock { $0.isReachable = false }
      bench.tests.publish(false)
      try await bench.until { $0.fences == 1 }
    }
    #expect(coverage.status.state == "measuring")
    let session = try #require(try bench.store().sessions().first)
    let fence = try #require(try bench.store().fences(of: session.id).first)
    #expect(fence.answered + 5 <= coverage.status.pings["answered", default: 0])
  }

  @Test("The status is reported at most once in a second, and only after a change") func pace() async throws {
    let clock = ManualClock()
    let reports = UpdateFeed<[String]>([])
    let coverage = bench.coverage(report: .seconds(1), clock: TimeSource(clock))
    let task = Task {
      await coverage.run { reports.publish((reports.newest ?? []) + [$0.state]) }
    }
    defer { task.cancel() }
    try await within {
      for await states in reports.updates(limit: 8) where states == ["noLocation"] { break }
      try bench.move(to: 16.3, error: 40)
      try bench.move(to: 16.3)
      for await number in bench.control.requests.updates(limit: 8) where number == 1 { break }
      #expect(reports.newest == ["noLocation"])
      await clock.advance(toSleeperAt: .seconds(1))
      for await states in reports.updates(limit: 8) where states.count > 1 { break }
      #expect(reports.newest == ["noLocation", "measuring"])
    }
    task.cancel()
    await task.value
  }

  @Test("The figures are metrics and lines of the status") func words() {
    var status = CoverageMeasurementStatus(state: "wifi")
    status.technology = "4G/LTE"
    status.fences = 3
    status.pings = ["answered": 58, "lost": 2, "stalled": 1]
    status.sendings = ["delivered": 4, "failed": 1, "refused": 0, "outdated": 0]
    status.waiting = 2
    status.session = "u1"
    status.problem = "p"
    let text = Metric.text(of: status.metrics)
    #expect(text.contains("edgeblue_coverage_state{state=\"wifi\"} 1\n"))
    #expect(text.contains("edgeblue_coverage_state{state=\"measuring\"} 0\n"))
    #expect(text.contains("edgeblue_coverage_pings_total{result=\"lost\"} 2\n"))
    #expect(text.contains("edgeblue_coverage_sessions_waiting 2\n"))
    #expect(text.contains("edgeblue_coverage_failures_total{kind=\"failed\"} 1\n"))
    var agent = AgentStatus(mode: .off)
    agent.coverage = status
    let lines = agent.lines.filter { $0.hasPrefix("Coverage") }
    #expect(
      lines == [
        "Coverage      waits, packets go over Wi-Fi, which is not measured, 4G/LTE, 3 fences, 58 of 60 pings answered; "
          + "4 sessions sent, 2 waiting", "Coverage      session u1", "Coverage      problem: p",
      ])
  }
}
