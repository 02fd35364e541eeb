import Foundation
import SystemTesting
import Testing

@testable import edgeblue

@Suite(
  "The setup of the agent",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct AgentSetupTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "edgeblue-setup-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private var file: URL { folder.appending(path: "agent.json") }

  private func remove() { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }

  private func settings() throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
  }

  private func mode(_ path: String) throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  private func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
    let process = try ChildProcess(
      program, ["agent", "setup", "--config", file.path, "--no-start"] + arguments, errors: .discarded)
    let outcome = await process.outcome()
    return (outcome.status, outcome.output)
  }

  @Test("Options are written, with the token in a file of its own, and other settings stay") func options()
    async throws
  {
    defer { remove() }
    try Data(#"{"pace-ms": 20, "model": "old"}"#.utf8).write(to: file)
    let token = folder.appending(path: "given")
    try Data("a-secret\n".utf8).write(to: token)
    let outcome = try await run([
      "--yes", "--engine", "ollama", "--engine-url", "http://127.0.0.1:9", "--coordinator", "http://127.0.0.1:9",
      "--registration-token-file", token.path, "--name", "board", "--metered", "pause",
    ])
    #expect(outcome.status == 0)
    #expect(!outcome.output.contains("a-secret"))
    // What does not answer is named, and may come later.
    #expect(outcome.output.contains("nothing answers"))
    let written = try settings()
    #expect(written["pace-ms"] as? Int == 20)
    #expect(written["model"] == nil)
    #expect(written["engine"] as? String == "ollama")
    #expect(written["metered"] as? String == "pause")
    #expect(written["name"] as? String == "board")
    let kept = try #require(written["registration-token-file"] as? String)
    #expect(try String(contentsOfFile: kept, encoding: .utf8) == "a-secret\n")
    #expect(try mode(kept) == 0o600)
    #expect(try mode(file.path) == 0o644)
    _ = try AgentCommand.configured([], file: file.path, environment: [:])
  }

  @Test("A wrong option, and a file that is no JSON, change nothing") func mistakes() async throws {
    defer { remove() }
    #expect(try await run(["--yes", "--engine", "echo"]).status == ExitStatus.badInput.rawValue)
    let exposed = ["--yes", "--coordinator", "http://coordinator.example"]
    #expect(try await run(exposed).status == ExitStatus.badInput.rawValue)
    #expect(!FileManager.default.fileExists(atPath: file.path))
    try Data("{".utf8).write(to: file)
    #expect(try await run(["--yes", "--name", "board"]).status == ExitStatus.badInput.rawValue)
    #expect(try Data(contentsOf: file) == Data("{".utf8))
  }
}

@Suite("Settings that are wrong, and what the journal gets") struct AgentMistakeTests {
  @Test("The error of a setting has the line and the column") func places() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "agent-\(UUID().uuidString).json")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
    for (text, place) in [
      ("{\n  \"engine\": \"ollama\",\n  \"engin-url\": \"x\"\n}", ":3:3: the setting “engin-url” is unknown"),
      ("{\n  \"pace-ms\": \"x\"}", ":2:3: “pace-ms” is not a whole number"),
      ("{\n\n   \"assignment\": \"x\"}", ":3:4: The value 'x'"), ("{\n  \"engine\" \"x\"\n}", ":2:"),
    ] {
      try Data(text.utf8).write(to: file)
      let failure = try #require(throws: Failure.self) {
        try AgentCommand.configured([], file: file.path, environment: [:])
      }
      #expect(failure.message.hasPrefix(file.path + place), "\(failure.message)")
    }
  }

  @Test("Lines in the journal have a severity each") func severities() {
    #expect(Journal.Severity.error.marked("one\ntwo\n") == "<3>one\n<3>two\n")
    #expect(Journal.Severity.info.marked("one") == "<6>one\n")
    #expect(!Journal.isBehind(0, nil))
    var status = stat()
    #expect(fstat(0, &status) == 0)
    #expect(Journal.isBehind(0, "\(status.st_dev):\(status.st_ino)"))
    #expect(!Journal.isBehind(0, "\(status.st_dev):\(status.st_ino + 1)"))
  }

  @Test("Uploads wait on a metered network, with spare for a day") func metered() {
    #expect(MeteredPolicy.pause.holds(isMetered: true, age: .seconds(1_000_000)))
    #expect(MeteredPolicy.spare.holds(isMetered: true, age: .seconds(86_399)))
    #expect(!MeteredPolicy.spare.holds(isMetered: true, age: .seconds(86_400)))
    #expect(!MeteredPolicy.ignore.holds(isMetered: true, age: .zero))
    #expect(MeteredPolicy.allCases.allSatisfy { !$0.holds(isMetered: false, age: .zero) })
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
