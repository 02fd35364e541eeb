import AudioIngestTesting
import Coverage
import Foundation
import SystemTesting
import Testing
import Timing
import Uploads

@testable import edgeblue

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
private let peer = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Peers/coverage_client.py").path
private let python = "/usr/bin/python3"
private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized.path
private let peers = root + "/.venv-peers/bin/python3"
private let hasDuckDB =
  (try? FileManager.default.subpathsOfDirectory(atPath: root + "/.venv-peers/lib"))?
  .contains { $0.hasSuffix("site-packages/duckdb/__init__.py") } ?? false

/// `edgeblue coverage serve` as it was built, with a client that was written from the protocol alone.
@Suite(
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: python), "needs python3"), .timeLimit(.minutes(5)))
struct CoverageServeTests {
  private let temporary: TemporaryFolder
  private var folder: String { temporary.path }

  init() throws {
    temporary = try TemporaryFolder()
    try "keyofpings label\n".write(toFile: folder + "/keys", atomically: true, encoding: .utf8)
  }

  private func serve(pingPort: Int, errors: ChildProcess.Print = .shown) throws -> ChildProcess {
    try ChildProcess(
      program,
      [
        "coverage", "serve", "--key-file", folder + "/keys", "--state", folder + "/state", "--port", "0", "--json",
        "--ping-host", "127.0.0.1", "--ping-port", "\(pingPort)",
      ], errors: errors)
  }

  private func run(_ words: String...) async throws -> (status: Int32, output: String) {
    let outcome = try await ChildProcess(program, words, errors: .kept).outcome()
    return (outcome.status, outcome.output + outcome.errors)
  }

  private func client(_ phase: String, _ port: Int) async throws {
    let process = try ChildProcess(
      python, [peer, phase, "http://127.0.0.1:\(port)/RMBTControlServer", folder + "/known"], errors: .kept)
    defer { process.kill() }
    let outcome = await process.outcome()
    #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
  }

  @Test("A foreign client is granted a session, pings, and delivers its result to a server that was killed meanwhile")
  func aForeignClient() async throws {
    let pings = try ChildProcess(
      program,
      ["speedtest", "serve", "--key-file", folder + "/keys", "--address", "127.0.0.1", "--port", "0", "--json"])
    defer { pings.kill() }
    let line = try JSONSerialization.jsonObject(with: Data(try await pings.firstLine().utf8)) as? [String: Any]
    let pingPort = try #require(line?["pingPort"] as? Int)

    let first = try serve(pingPort: pingPort)
    defer { first.kill() }
    try await client("begin", try await first.ports(in: "serving")[0])
    first.kill()
    _ = await first.wait()

    let second = try serve(pingPort: pingPort, errors: .kept)
    defer { second.kill() }
    try await client("finish", try await second.ports(in: "serving")[0])
    second.signal(SIGTERM)
    let outcome = await second.outcome()
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.output.contains("\"received\":2"))
    #expect(!(outcome.output + outcome.errors).contains("127.0.0.1"))

    let csv = try await run("coverage", "export", "--received", "--format", "csv", "--state", folder + "/state").output
    #expect(csv.split(separator: "\r\n").count == 4, "\(csv)")
    #expect(csv.contains("5G/NRNSA,10.33,1,0,true"), "\(csv)")
    let map = try await run("coverage", "map", folder + "/map.svg", "--received", "--state", folder + "/state")
    #expect(map.output.contains("shows 3 fences"), "\(map.output)")
  }

  /// Stores a finished session of three fences, the last one without coverage.
  private func measure(for server: String) throws {
    let store = try CoverageStore(path: folder + "/state/coverage.sqlite")
    let startUs = (WallClock.unixMilliseconds() - 60_000) * 1000
    let run = CoverageRunID(id: "r", server: server, startUs: startUs)
    try store.begin(run)
    for number in 1...3 {
      let place = try #require(CoverageLocation(latitude: 48.2 + Double(number) / 1000, longitude: 16.37, accuracy: 4))
      var fence = Fence(
        number: number, place: place, radius: 18, entered: .seconds(number * 10), technology: .lte)
      fence.exited = .seconds(number * 10 + 10)
      fence.pings.add(PingResult(at: .zero, roundTrip: number < 3 ? .milliseconds(10 * number) : nil))
      try store.apply([.add(fence)], of: run, at: .seconds(number * 10))
    }
    try store.apply([.finalise], of: run, at: .seconds(50))
  }

  /// Puts what is queued for upload into folders as a server has it, with the lines of its manifest.
  /// - Returns: The day of the manifest.
  private func serveQueue() throws -> String {
    let items = try QueueStore.copy(of: folder + "/queue/uploads.sqlite").items(in: [.waiting])
    #expect(items.count == 1)
    let request = try #require(items.first?.request)
    let manifest = try #require(request.manifest)
    let line = "{\"bucket\":\"\(request.bucket)\",\"key\":\"\(request.key)\"}\n"
    let object = try Data(contentsOf: URL(filePath: request.content.path))
    for (key, data) in [(request.key, object), (manifest, Data(line.utf8))] {
      let url = URL(filePath: "\(folder)/server/\(request.bucket)/\(key)")
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try data.write(to: url)
    }
    return String(try #require(manifest.split(separator: "date=").last).prefix(10))
  }

  @Test(
    "What is queued for the fleet is read by DuckDB with the queries of the page, without listing",
    .enabled(if: hasDuckDB, "no duckdb in .venv-peers"))
  func theFleet() async throws {
    let server = try serve(pingPort: 5231)
    defer { server.kill() }
    let port = try await server.ports(in: "serving")[0]
    try measure(for: "http://127.0.0.1:\(port)")
    let words = [
      "coverage", "send", "--state", folder + "/state", "--bucket", "fleet", "--account", "ada", "--queue",
      folder + "/queue",
    ]
    let sent = try await ChildProcess(program, words, errors: .kept).outcome()
    #expect(sent.output.contains("3 fences: sent"), "\(sent.output)\(sent.errors)")
    let day = try serveQueue()
    let queries = try ChildProcess(
      peers,
      [
        URL(filePath: peer).deletingLastPathComponent().path + "/coverage_duckdb.py", root + "/docs/coverage.md",
        folder + "/server", day,
      ], errors: .kept)
    let outcome = await queries.outcome()
    #expect(outcome.status == 0, "\(outcome.errors)")
    // A third of the fences has no coverage; the mean is that of the pings.
    #expect(outcome.output.contains("[[\"4G/LTE\", 3, 33.3]]"), "\(outcome.output)")
    #expect(outcome.output.contains("[[48.2, 16.37, 15.0]]"), "\(outcome.output)")
  }

  @Test("A map replaces maps alone, and its format is that of its name") func mapFiles() async throws {
    for name in ["map.html", "map.svg"] {
      let path = folder + "/" + name
      for _ in 0..<2 { #expect(try await run("coverage", "map", path, "--state", folder + "/none").status == 0) }
      try "mine".write(toFile: path, atomically: true, encoding: .utf8)
      let other = try await run("coverage", "map", path, "--state", folder + "/none")
      #expect(other.status == ExitStatus.badInput.rawValue)
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    }
    let unknown = try await run("coverage", "map", folder + "/map.pdf")
    #expect(unknown.status == ExitStatus.badInput.rawValue)
    #expect(unknown.output.contains(".html, .svg or .png"), "\(unknown.output)")
  }

  @Test("A server whose key, certificate or port is unusable says so, and leaves no folder behind")
  func mistakes() async throws {
    let missing = try await run(
      "coverage", "serve", "--key-file", folder + "/none", "--ping-host", "h", "--state", folder + "/state")
    #expect(missing.output.contains("does not exist"), "\(missing.output)")
    let certificate = try await run(
      "coverage", "serve", "--key-file", folder + "/keys", "--ping-host", "h", "--state", folder + "/state",
      "--certificate", folder + "/keys", "--certificate-key", folder + "/keys")
    #expect(certificate.output.contains("no readable certificate and key"), "\(certificate.output)")
    #expect(!FileManager.default.fileExists(atPath: folder + "/state"))
  }
}
