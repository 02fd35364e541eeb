import AudioIngest
import AudioIngestTesting
import DBusTesting
import Foundation
import SystemTesting
import Testing
import Uploads
import UploadsTesting

@Suite(
  "The built agent, which uploads what other commands queue",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"),
  .enabled(if: Program.isThere, "needs the command: swift build"),
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct AgentUploadsTests {
  private let bus: PrivateBus
  private let folder: UploadsTesting.TemporaryFolder
  private let environment: [String: String]

  init() throws {
    bus = try PrivateBus()
    folder = try UploadsTesting.TemporaryFolder()
    environment = [
      "DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": folder.path,
      "AWS_ACCESS_KEY_ID": SeaweedFS.writer.accessKey, "AWS_SECRET_ACCESS_KEY": SeaweedFS.writer.secretKey,
    ]
  }

  /// Runs a command, which must succeed, and returns its output.
  private func run(_ words: String...) async throws -> String {
    let outcome = try await ChildProcess(Program.path, words, environment: environment).outcome()
    #expect(outcome.status == 0, "\(words)")
    return outcome.output
  }

  /// Checks the metrics after one upload of 1000 bytes.
  private func metricsCountTheUpload(atPort port: String) async throws {
    let curl = try ChildProcess("curl", ["-sf", "http://127.0.0.1:\(port)/metrics"])
    let numbers = await curl.outcome().output
    for line in [
      "edgeblue_uploads_items{state=\"done\"} 1", "edgeblue_uploads_completed_total 1",
      "edgeblue_uploads_completed_bytes_total 1000", "edgeblue_uploads_success_ratio 1",
      "edgeblue_uploads_failures_total{kind=\"network\"} 0", "edgeblue_agent_mode{mode=\"off\"} 1",
    ] {
      #expect(numbers.contains("\n\(line)\n"), "\(line)")
    }
  }

  /// Checks that another process cannot upload the queue that the agent uploads.
  private func queueIsLocked(_ state: String, _ endpoint: String) async throws {
    let second = try ChildProcess(
      Program.path, ["uploads", "run", "--state", state, "--endpoint", endpoint], environment: environment,
      errors: .kept)
    let refused = await second.outcome()
    #expect(refused.status != 0)
    #expect(refused.errors.contains("another process uploads this queue"))
  }

  @Test("The agent reports a damaged sidecar for as long as it is there, and uploads the other segments")
  func aDamagedSidecarStopsNoOther() async throws {
    let server = try await SeaweedFS.running()
    let state = folder.path + "/state"
    let recordings = try SegmentFolder(path: folder.path + "/recordings", limits: .init(reserve: 0))
    var recording = try Recording(recordings, SegmentRules(maximum: .seconds(2), quietSearch: .zero))
    recording.play(frames: 600)
    recording.recorder.end(.shutdown, at: recording.moment)
    let segments = try SegmentCatalog(path: recordings.path).entries.map(\.segment)
    try #require(segments.count == 3)
    let sidecar = URL(filePath: segments[1].path.dropLast(4) + ".json")
    let sound = try Data(contentsOf: sidecar)
    try sound.dropLast(20).write(to: sidecar)
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    try QueueStore(path: state + "/uploads.sqlite").remember(
      UploadSource(
        folder: recordings.path, endpoint: server.address, bucket: SeaweedFS.bucket, prefix: "damaged/",
        account: "default"))
    let agent = try ChildProcess(
      Program.path,
      ["agent", "--bus", bus.address, "--state", state, "--json", "--uploads", "--endpoint", server.address],
      environment: environment, output: .discarded)
    defer { agent.kill() }
    let problem = "not queued: \(segments[1].path) has no sidecar that describes it"
    try await statusIsOf(4, uploaded: problem)
    try sound.write(to: sidecar)
    try await statusIsOf(6, uploaded: nil)
    agent.signal(SIGTERM)
    #expect(await agent.outcome().status == 0)
  }

  /// Waits until the agent has uploaded so many objects, and reports a problem, or none.
  private func statusIsOf(_ count: Int, uploaded problem: String?) async throws {
    var status: [String: Any] = [:]
    try await eventually("\(count) uploaded objects and \(problem ?? "no problem")") {
      let words = ["status", "--json", "--bus", bus.address]
      let outcome = try await ChildProcess(Program.path, words, errors: .discarded).outcome()
      // Until the agent is on the bus there is none.
      guard outcome.status == 0 else { return false }
      let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
      status = object?["uploads"] as? [String: Any] ?? [:]
      return (status["items"] as? [String: Int])?["done"] == count && status["problem"] as? String == problem
    }
    #expect(status["items"] as? [String: Int] == ["done": count])
  }

  @Test("The agent uploads items that other commands queue, and reports them")
  func theAgentUploadsWhatOthersQueueAndSaysSo() async throws {
    let server = try await SeaweedFS.running()
    let state = folder.path + "/state"
    let agent = try ChildProcess(
      Program.path,
      [
        "agent", "--bus", bus.address, "--state", state, "--json", "--metrics-port", "0", "--uploads", "--endpoint",
        server.address,
      ], environment: environment)
    // One of the first lines reports the port of the metrics.
    var line = ""
    while !line.contains(#""port":"#) { line = try await agent.firstLine() }
    let port = try #require(line.firstMatch(of: /"port":([0-9]+)/)).1
    let path = try folder.file("queued.wav", 1000, seed: 4)
    let queued = try await run(
      "upload", path, "--bucket", SeaweedFS.bucket, "--key", "agent/queued.wav", "--later", "--state", state)
    #expect(queued.contains("queued as item 1"))
    var status = ""
    try await eventually("the item is uploaded") {
      status = try await run("status", "--json", "--bus", bus.address)
      return status.contains(#""uploaded":1,"#)
    }
    #expect(status.contains(#""items":{"done":1}"#))
    #expect(status.contains(#""attempts":1,"#))
    #expect(try await run("status", "--bus", bus.address).contains("Uploads       none waiting; 1 uploaded"))
    #expect(try await server.bytes(of: "agent/queued.wav") == Data(contentsOf: URL(filePath: path)))
    try await metricsCountTheUpload(atPort: String(port))
    try await queueIsLocked(state, server.address)
    agent.signal(SIGTERM)
    #expect(await agent.outcome().status == 0)
  }
}
