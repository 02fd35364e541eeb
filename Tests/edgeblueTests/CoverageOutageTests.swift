import AudioIngestTesting
import Foundation
import NetworkPath
import SystemTesting
import Testing

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
private let track = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Peers/walk.nmea").path

/// `edgeblue coverage run` as it was built, with servers that are killed while it measures.
@Suite(
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .enabled("needs a network that is not Wi-Fi, over which nothing is measured") {
    try await NetworkPathMonitor.start().path.interfaces.first?.kind != .wifi
  }, .timeLimit(.minutes(5)))
struct CoverageOutageTests {
  private let temporary: TemporaryFolder
  private var folder: String { temporary.path }

  init() throws {
    temporary = try TemporaryFolder()
    try "keyofpings label\n".write(toFile: folder + "/keys", atomically: true, encoding: .utf8)
  }

  /// Starts a server, and waits until it serves.
  private func serve(_ words: [String], port: UInt16) async throws -> ChildProcess {
    let process = try ChildProcess(
      program, words + ["--port", "\(port)", "--key-file", folder + "/keys", "--json"], errors: .discarded)
    let line = try await process.firstLine()
    try #require(field("event", of: line) == "serving", "\(line)")
    return process
  }

  private func servePings(port: UInt16) async throws -> ChildProcess {
    try await serve(["speedtest", "serve", "--address", "127.0.0.1"], port: port)
  }

  private func serveControl(pings: UInt16, port: UInt16) async throws -> ChildProcess {
    let words = ["coverage", "serve", "--ping-host", "127.0.0.1", "--ping-port", "\(pings)"]
    return try await serve(words + ["--state", folder + "/server"], port: port)
  }

  private func startRun(control: UInt16) throws -> ChildProcess {
    let words = ["coverage", "run", "--control", "http://127.0.0.1:\(control)", "--state", folder + "/state", "--json"]
    return try ChildProcess(program, words + ["--track", track, "--track-speed", "12"], errors: .discarded)
  }

  /// Reads what a run prints until a kind of event, and returns a field of that.
  private func event(_ name: String, _ member: String, of run: ChildProcess) async throws -> String {
    while true {
      let line = try await run.firstLine()
      if field("event", of: line) == name { return try #require(field(member, of: line), "\(line)") }
    }
  }

  @Test("A run whose servers are killed and come back goes on in another session, and all its fences arrive once")
  func anOutage() async throws {
    // Both come back at their ports, which no other program may take meanwhile.
    let ports = try LoopbackPort.free(2)
    let pings = try await servePings(port: ports[0])
    let control = try await serveControl(pings: ports[0], port: ports[1])
    let run = try startRun(control: ports[1])
    defer { run.kill() }
    var sessions = [try await event("session", "session", of: run)]
    while try await event("status", "answered", of: run) == "0" {}
    control.kill()
    pings.kill()
    #expect(try await event("problem", "reason", of: run).contains("no server responds"))
    // The pings come back later: with them, the first session would be as good as before.
    let secondControl = try await serveControl(pings: ports[0], port: ports[1])
    sessions.append(try await event("session", "session", of: run))
    let answered = try await event("status", "answered", of: run)
    let secondPings = try await servePings(port: ports[0])
    defer { for server in [secondControl, secondPings] { server.kill() } }
    // The status from before they were back may be read only now.
    while try await event("status", "answered", of: run) == answered {}
    run.signal(SIGINT)
    let outcome = await run.outcome()
    #expect(outcome.status == 0, "\(outcome.output)")
    let list = try ChildProcess(program, ["coverage", "list", "--json", "--state", folder + "/state"])
    #expect(await list.outcome().output.isEmpty)

    let rows = try await received()
    // On a slow machine there may be another session before the pings are back.
    #expect(Set(rows.map { $0[1] }).isSuperset(of: sessions))
    #expect(Set(rows.map { "\($0[1]) \($0[2])" }).count == rows.count)
    // Fences follow each other in time without a gap, whatever session they belong to.
    let times = rows.map { ($0[3], $0[4]) }
    #expect(zip(times, times.dropFirst()).allSatisfy { $0.1 <= $1.0 })
    #expect(Set(rows.filter { $0[1] == sessions[0] }.map { $0[16] }) == ["true", "false"])
    let later = rows.filter { $0[1] != sessions[0] }
    #expect(later.contains { $0[16] == "true" })
  }

  /// The columns of each fence that the server has, in the order of time.
  private func received() async throws -> [[String]] {
    let words = ["coverage", "export", "--received", "--format", "csv", "--state", folder + "/server"]
    let outcome = try await ChildProcess(program, words).outcome()
    return outcome.output.split(separator: "\r\n").dropFirst()
      .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
      .sorted { $0[3] < $1[3] }
  }
}
