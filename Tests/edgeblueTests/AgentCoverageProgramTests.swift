import Agent
import AudioIngestTesting
import Coverage
import DBus
import DBusTesting
import Foundation
import Glibc
import SystemTesting
import Testing

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path

/// The command `edgeblue agent --coverage` on a bus of its own, beside our servers of sessions and of pings.
private final class CoverageAgent: Sendable {
  let bus: PrivateBus
  let temporary: TemporaryFolder
  let pings: ChildProcess
  let server: ChildProcess
  let port: Int

  private var folder: String { temporary.path }

  init() async throws {
    bus = try PrivateBus()
    temporary = try TemporaryFolder()
    let folder = temporary.path
    try "keyofpings label\n".write(toFile: folder + "/keys", atomically: true, encoding: .utf8)
    pings = try ChildProcess(
      program,
      ["speedtest", "serve", "--key-file", folder + "/keys", "--address", "127.0.0.1", "--port", "0", "--json"])
    let line = try JSONSerialization.jsonObject(with: Data(try await pings.firstLine().utf8)) as? [String: Any]
    let pingPort = try #require(line?["pingPort"] as? Int)
    server = try ChildProcess(
      program,
      [
        "coverage", "serve", "--key-file", folder + "/keys", "--state", folder + "/server", "--port", "0", "--json",
        "--ping-host", "127.0.0.1", "--ping-port", "\(pingPort)",
      ])
    port = try await server.ports(in: "serving")[0]
  }

  func close() {
    pings.kill()
    server.kill()
  }

  /// Starts the agent.
  /// - Returns: The process, and the port of its metrics.
  func start(_ source: String...) async throws -> (agent: ChildProcess, metrics: Int) {
    let words = [
      "agent", "--coverage", "--control", "http://127.0.0.1:\(port)", "--engine", "echo", "--state", folder + "/agent",
      "--bus", bus.address, "--metrics-port", "0", "--json",
    ]
    let agent = try ChildProcess(
      program, words + source, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": folder],
      errors: .shown)
    return (agent, try await agent.ports(in: "metrics")[0])
  }

  /// Waits, by the changes that the bus tells, for a status of the measurement.
  func until(
    _ isWanted: @escaping @Sendable (CoverageMeasurementStatus) -> Bool
  ) async throws -> CoverageMeasurementStatus {
    struct Found: Error { let status: CoverageMeasurementStatus }
    let client = try await AgentClient.open(on: .address(bus.address))
    return try await within(.seconds(240), "the status") {
      do {
        try await client.follow { status in
          if let coverage = status.coverage, isWanted(coverage) { throw Found(status: coverage) }
        }
      } catch let found as Found {
        return found.status
      }
      throw CancellationError()
    }
  }

  /// The properties that every user may read.
  func properties() async throws -> [String: Value] {
    let object = RemoteObject(try await bus.connect(), "io.edgecoder.Agent1", "/io/edgecoder/Agent1")
    return try await object.getAll("io.edgecoder.Agent1")
  }

  func metrics(at port: Int) async throws -> String {
    let curl = try ChildProcess("curl", ["-sf", "http://127.0.0.1:\(port)/metrics"])
    return await curl.outcome().output
  }

  /// The sessions that the server has received.
  func received() throws -> [CoverageSession] {
    try CoverageArchive.copy(of: folder + "/server/received.sqlite").parts().map(\.session)
  }

  /// The sessions that the agent still has.
  func stored() throws -> [CoverageSession] {
    try CoverageStore(path: folder + "/agent/coverage/coverage.sqlite").sessions()
  }

  /// Writes a track that goes 75 m to the east each second, for an hour.
  func writeTrack() throws -> String {
    let points = (0..<3600).map { second in
      let time = String(format: "%02d:%02d", second / 60, second % 60)
      return "<trkpt lat=\"48.2\" lon=\"\(16 + Double(second) / 1000)\"><time>2026-01-01T10:\(time)Z</time></trkpt>"
    }
    let path = folder + "/walk.gpx"
    try "<gpx version=\"1.1\"><trk><trkseg>\(points.joined())</trkseg></trk></gpx>"
      .write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }
}

@Suite(
  "The command `edgeblue agent --coverage`",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: ChildProcess.path(of: "curl") != nil, "needs curl"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct AgentCoverageProgramTests {
  @Test("It measures, tells bus and metrics, and at SIGTERM its session is delivered once") func inOrder() async throws
  {
    let fixture = try await CoverageAgent()
    defer { fixture.close() }
    let (agent, port) = try await fixture.start("--place", "48.2,16.37")
    let status = try await fixture.until { $0.session != nil && $0.pings["answered", default: 0] >= 5 }
    #expect(status.state == "measuring")
    #expect(status.fences == 1)
    let properties = try await fixture.properties()
    #expect(properties["CoverageState"]?.string == "measuring")
    #expect(properties["CoverageFences"]?.integer() == 1)
    #expect(properties["CoverageWaiting"]?.integer() == 0)
    // Identifiers are for the owner alone.
    #expect(properties["CoverageSession"] == nil)
    let metrics = try await fixture.metrics(at: port)
    #expect(metrics.contains("edgeblue_coverage_state{state=\"measuring\"} 1\n"))
    #expect(metrics.contains("edgeblue_coverage_fences_total 1\n"))
    #expect(metrics.contains("edgeblue_coverage_deliveries_total 0\n"))
    let text = try await ChildProcess(program, ["status", "--bus", fixture.bus.address]).outcome().output
    #expect(text.contains("Coverage      measuring, "), "\(text)")
    agent.signal(SIGTERM)
    #expect(await agent.wait() == 0)
    let received = try fixture.received()
    #expect(received.map(\.uuid) == [status.session])
    #expect(received.map(\.fences) == [1])
    #expect(try fixture.stored().isEmpty)
  }

  @Test("After kill -9 the next agent delivers what the first one has stored, each session once") func killed()
    async throws
  {
    let fixture = try await CoverageAgent()
    defer { fixture.close() }
    let (first, _) = try await fixture.start("--track", try fixture.writeTrack())
    // A fence is on disk when the next one is entered.
    let killed = try await fixture.until { $0.session != nil && $0.fences >= 3 }
    first.kill()
    await first.wait()
    let (second, _) = try await fixture.start("--place", "48.2,16.37")
    let status = try await fixture.until { $0.sendings["delivered"] == 1 && $0.session != nil && $0.waiting == 0 }
    #expect(status.fences == 1)
    second.signal(SIGTERM)
    #expect(await second.wait() == 0)
    let received = try fixture.received()
    #expect(received.map(\.uuid) == [killed.session, status.session])
    #expect(received.first.map { $0.fences >= 2 } == true)
    #expect(try fixture.stored().isEmpty)
  }
}
