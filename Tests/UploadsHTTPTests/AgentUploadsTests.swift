import DBusTesting
import Foundation
import SystemTesting
import Testing
import UploadsTesting

@Suite(
  "The built agent, which uploads what other commands queue",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"),
  .enabled(if: Program.isThere, "needs the command: swift build"),
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct AgentUploadsTests {
  private let bus: PrivateBus
  private let folder: TemporaryFolder
  private let environment: [String: String]

  init() throws {
    bus = try PrivateBus()
    folder = try TemporaryFolder()
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
