import Agent
import DBusTesting
import Foundation
import Streams
import SystemTesting
import Testing

/// Servers that quote every secret of a request, or speak nonsense, to the built program.
@Suite(
  "Secrets in what the program writes",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct SecretProgramAttacks {
  private static let secrets = [
    "token": "MARKED-REGISTRATION/1\n", "mesh": "MARKED-MESH\n",
    "s3": """
    [default]
    aws_access_key_id = KEY
    aws_secret_access_key = MARKED/SECRET
    aws_session_token = MARKED-SESSION
    """, "audio": "bytes", "engine": "MARKED-ENGINE-KEY\n", "upload": "MARKED-UPLOAD-TOKEN\n",
  ]

  /// Writes each secret to a file of its name.
  private static func write(to folder: Folder) throws {
    for (name, text) in secrets { try Data(text.utf8).write(to: URL(filePath: "\(folder.path)/\(name)")) }
  }

  @Test("No fault of a server has a secret written anywhere", arguments: QuotingServer.Fault.allCases)
  func noSecretIsWritten(fault: QuotingServer.Fault) async throws {
    let bus = try PrivateBus()
    let state = try Folder()
    let inputs = try Folder()
    try Self.write(to: inputs)
    try await QuotingServer.run(fault) { url in
      let upload = [
        "--endpoint", url, "--credentials", inputs.path + "/s3", "--state", state.path,
      ]
      _ = try await edgeblue(
        ["upload", inputs.path + "/audio", "--later", "--bucket", "bucket", "--key", "k"] + upload)
      let agent = try agent(
        [
          "--bus", bus.address, "--coordinator", url, "--registration-token-file", inputs.path + "/token",
          "--mesh-token-file", inputs.path + "/mesh", "--test-coordinator", "--uploads", "--log-level", "trace",
        ] + upload, output: inputs.path + "/said", bus)
      try await eventually("the agent is on the bus") {
        try await edgeblue(["mode", "on", "--bus", bus.address]).status == 0
      }
      try await eventually("both have failed", within: .seconds(60)) {
        let status = try await edgeblue(["status", "--json", "--bus", bus.address]).output
        return status.contains(#""failures":{""#) && status.contains(#""problem":""#)
      }
      try await expectNoMark(in: commands(state.path, bus))
      agent.signal(SIGTERM)
      #expect(await agent.wait() == 0)
      try expectNoMark(inFilesOf: state.path, having: ["events.jsonl", "uploads.sqlite"], and: inputs.path + "/said")
    }
  }

  /// A coordinator gives the agent a task, whose prompt it sends to an engine that quotes the key.
  @Test(
    "No fault of an engine has its key written anywhere, or sent to the coordinator",
    arguments: QuotingServer.Fault.allCases.filter { $0 != .withoutTLS })
  func noEngineKeyIsWritten(fault: QuotingServer.Fault) async throws {
    let bus = try PrivateBus()
    let state = try Folder()
    let inputs = try Folder()
    try Self.write(to: inputs)
    let quoted = Lock<[String]>([])
    try await TestCoordinator.run { coordinator in
      let registry = coordinator.registry
      registry.offer(#"{"id":"s1","taskId":"T","input":"Say something.","timeoutMs":60000}"#)
      try await QuotingServer.run(fault, quoted: quoted) { url in
        let engine = ["--engine", "openai", "--engine-url", url, "--engine-key-file", inputs.path + "/engine"]
        let agent = try agent(
          [
            "--bus", bus.address, "--coordinator", coordinator.address, "--state", state.path, "--model", "m",
            "--log-level", "trace",
          ] + engine, output: inputs.path + "/said", bus)
        try await eventually("the agent is on the bus") {
          try await edgeblue(["mode", "on", "--bus", bus.address]).status == 0
        }
        await registry.until { seen in seen.contains { $0.path == "/result" } }
        try await expectNoMark(in: ["status", "events", "tasks"].map { [$0, "--bus", bus.address] })
        // Below this path it quotes those who ask for its models, too.
        let doctor = ["doctor", "--log-level", "trace", "--state", state.path, "--engine", "openai", "--engine-url"]
        let checks = try await edgeblue(doctor + [url + "/below"] + engine.suffix(2))
        #expect(!checks.output.contains("MARKED"), "\(checks.output)")
        agent.signal(SIGTERM)
        #expect(await agent.wait() == 0)
        try expectNoMark(inFilesOf: state.path, having: ["events.jsonl"], and: inputs.path + "/said")
      }
      #expect(!registry.seen.contains { String(decoding: $0.body, as: UTF8.self).contains("MARKED") })
    }
    #expect(quoted.withLock { $0.contains { $0.contains("MARKED-ENGINE-KEY") } })
  }

  @Test(
    "No fault of the service of credentials has the token for it written anywhere",
    arguments: QuotingServer.Fault.allCases)
  func noUploadTokenIsWritten(fault: QuotingServer.Fault) async throws {
    let state = try Folder()
    let inputs = try Folder()
    try Self.write(to: inputs)
    let quoted = Lock<[String]>([])
    try await QuotingServer.run(fault, quoted: quoted) { url in
      let upload = try start(
        [
          "upload", inputs.path + "/audio", "--bucket", "bucket", "--key", "k", "--endpoint", url, "--token-service",
          url + "/tokens", "--token-file", inputs.path + "/upload", "--state", state.path, "--log-level", "trace",
        ], output: inputs.path + "/said")
      try await eventually("the command says why it waits") {
        let said = FileManager.default.contents(atPath: inputs.path + "/said") ?? Data()
        return String(decoding: said, as: UTF8.self).contains("waits")
      }
      try await expectNoMark(in: Self.queueCommands(state.path))
      upload.signal(SIGINT)
      _ = await upload.wait()
      try expectNoMark(inFilesOf: state.path, having: ["uploads.sqlite"], and: inputs.path + "/said")
    }
    let isSent = quoted.withLock { $0.contains { $0.contains("MARKED-UPLOAD-TOKEN") } }
    #expect(isSent == (fault != .withoutTLS))
  }

  @Test("The machine's key and the coordinator's token are in their own files alone, and the key is sent to nobody")
  func ownSecretsStay() async throws {
    let bus = try PrivateBus()
    let state = try Folder()
    let inputs = try Folder()
    let registry = Registry(meshToken: "MARKED-MESH")
    try await TestCoordinator.run(registry: registry) { coordinator in
      let agent = try agent(
        [
          "--bus", bus.address, "--coordinator", coordinator.address, "--test-coordinator", "--state", state.path,
          "--log-level", "trace",
        ], output: inputs.path + "/said", bus)
      try await eventually("the agent is on the bus") {
        try await edgeblue(["mode", "on", "--bus", bus.address]).status == 0
      }
      await registry.until { seen in seen.contains { $0.path == "/heartbeat" && $0.status == 200 } }
      try await expectNoMark(in: ["status", "events", "tasks"].map { [$0, "--bus", bus.address] })
      agent.signal(SIGTERM)
      #expect(await agent.wait() == 0)
    }
    let seed = try MachineIdentity.load(path: state.path + "/identity.json", hostName: "").signingSeed
    let files = try FileManager.default.subpathsOfDirectory(atPath: state.path)
    #expect(Self.holders(of: Data("MARKED-MESH".utf8), in: state.path, files) == ["coordinator.json"])
    var spellings = [seed, Data(seed.map { String(format: "%02x", $0) }.joined().utf8)]
    for text in [seed.base64EncodedString(), seed.base64EncodedString().replacing("/", with: #"\/"#)] {
      spellings.append(Data(text.utf8))
    }
    #expect(Set(spellings.flatMap { Self.holders(of: $0, in: state.path, files) }) == ["identity.json"])
    let sent = registry.seen.map(\.body) + [try Data(contentsOf: URL(filePath: inputs.path + "/said"))]
    for spelling in spellings { #expect(!sent.contains { $0.range(of: spelling) != nil }) }
    #expect(sent.last?.range(of: Data("MARKED".utf8)) == nil)
  }

  /// Returns the files that contain a secret.
  private static func holders(of secret: Data, in folder: String, _ files: [String]) -> [String] {
    files.filter { FileManager.default.contents(atPath: "\(folder)/\($0)")?.range(of: secret) != nil }
  }

  private func agent(_ arguments: [String], output: String, _ bus: PrivateBus) throws -> ChildProcess {
    try start(["agent"] + arguments, output: output, ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
  }

  /// Starts a command whose output goes to a file: no pipe holds all of it.
  private func start(
    _ words: [String], output: String, _ variables: [String: String] = [:]
  ) throws -> ChildProcess {
    try ChildProcess(
      "/bin/sh", ["-c", #"said=$1; shift; exec "$0" "$@" >"$said" 2>&1"#, program, output] + words,
      environment: variables.merging(["HOME": "/nonexistent"]) { $1 })
  }

  private func edgeblue(_ arguments: [String]) async throws -> (status: Int32, output: String) {
    let process = try ChildProcess(program, arguments, environment: ["HOME": "/nonexistent"], errors: .kept)
    let outcome = await process.outcome()
    return (outcome.status, outcome.output + outcome.errors)
  }

  private func commands(_ state: String, _ bus: PrivateBus) -> [[String]] {
    ["status", "events", "tasks"].map { [$0, "--bus", bus.address] } + Self.queueCommands(state)
  }

  private static func queueCommands(_ state: String) -> [[String]] {
    [
      ["uploads", "list", "--all", "--json", "--state", state], ["uploads", "events", "--state", state],
      ["uploads", "show", "1", "--state", state],
    ]
  }

  private func expectNoMark(in commands: [[String]]) async throws {
    for command in commands {
      let said = try await edgeblue(command)
      #expect(said.status == 0)
      #expect(!said.output.contains("MARKED"), "\(command): \(said.output)")
    }
  }

  private func expectNoMark(inFilesOf folder: String, having expected: [String], and output: String) throws {
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
    #expect(Set(names).isSuperset(of: expected), "\(names)")
    for path in names.map({ "\(folder)/\($0)" }) + [output] {
      let bytes = FileManager.default.contents(atPath: path) ?? Data()
      let text = String(decoding: bytes, as: UTF8.self)
      let marks = text.split(separator: "\n").filter { $0.contains("MARKED") }
      #expect(marks.isEmpty, "\(path): \(marks)")
    }
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
