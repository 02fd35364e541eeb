import DBusTesting
import Foundation
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
    """, "audio": "bytes",
  ]

  @Test("No fault of a server has a secret written anywhere", arguments: QuotingServer.Fault.allCases)
  func noSecretIsWritten(fault: QuotingServer.Fault) async throws {
    let bus = try PrivateBus()
    let state = try Folder()
    let inputs = try Folder()
    for (name, text) in Self.secrets { try Data(text.utf8).write(to: URL(filePath: "\(inputs.path)/\(name)")) }
    try await QuotingServer.run(fault) { url in
      let upload = [
        "--endpoint", url, "--credentials", inputs.path + "/s3", "--state", state.path,
      ]
      _ = try await edgeblue(
        ["upload", inputs.path + "/audio", "--later", "--bucket", "bucket", "--key", "k"] + upload)
      let agent = try agent(
        [
          "--bus", bus.address, "--coordinator", url, "--registration-token-file", inputs.path + "/token",
          "--mesh-token-file", inputs.path + "/mesh", "--uploads", "--log-level", "trace",
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
      try expectNoMark(inFilesOf: state.path, and: inputs.path + "/said")
    }
  }

  /// Starts an agent whose output goes to a file: no pipe holds all of it.
  private func agent(_ arguments: [String], output: String, _ bus: PrivateBus) throws -> ChildProcess {
    try ChildProcess(
      "/bin/sh", ["-c", #"said=$1; shift; exec "$0" agent "$@" >"$said" 2>&1"#, program, output] + arguments,
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": "/nonexistent"])
  }

  private func edgeblue(_ arguments: [String]) async throws -> (status: Int32, output: String) {
    let process = try ChildProcess(program, arguments, environment: ["HOME": "/nonexistent"], errors: .kept)
    let outcome = await process.outcome()
    return (outcome.status, outcome.output + outcome.errors)
  }

  private func commands(_ state: String, _ bus: PrivateBus) -> [[String]] {
    ["status", "events", "tasks"].map { [$0, "--bus", bus.address] } + [
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

  private func expectNoMark(inFilesOf folder: String, and output: String) throws {
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
    #expect(names.contains("events.jsonl"))
    #expect(names.contains("uploads.sqlite"))
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
