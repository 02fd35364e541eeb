import DBusTesting
import Foundation
import SystemTesting
import Testing

@testable import Agent

/// The agent as it was built, which sends messages: it tells nobody whether there are any.
@Suite(
  "Deniability of the agent",
  .enabled(if: ChildProcess.path(of: "gdbus") != nil, "needs gdbus"),
  .enabled(if: ChildProcess.path(of: "curl") != nil, "needs curl"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct AgentDeniabilityTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-agent-\(UUID().uuidString.prefix(8))"

  @Test("Metrics, D-Bus, output, exit status and files are equal for 0, 1 and 8 messages") func nothingDiffers()
    async throws
  {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    _ = try await shell("\(program) messages keys make \(folder)/keys --recipient desk --json > \(folder)/made")
    try "correct horse".write(toFile: "\(folder)/pass", atomically: true, encoding: .utf8)
    let collector = try ChildProcess(
      program, ["messages", "collect", "--to", "\(folder)/collected", "--port", "0", "--json"])
    let port = try #require(field("port", of: try await collector.firstLine()))
    let silent = try await life(messages: 0, port: port)
    #expect(silent["metrics"]?.contains(#"edgeblue_messages_ticks_total{outcome="done"} 1"#) == true)
    #expect(silent["bus"]?.contains("'Mode': <'off'>") == true)
    for messages in [1, 8] {
      let busy = try await life(messages: messages, port: port)
      #expect(busy.keys == silent.keys)
      for (name, text) in silent { #expect(busy[name] == text, "\(name) of \(messages) messages") }
    }
    collector.signal(SIGTERM)
    #expect(await collector.wait() == 0)
    try FileManager.default.removeItem(atPath: folder)
  }

  /// Starts the agent twice, since a run that is owed after a restart happens at once, and returns what can be seen of it.
  private func life(messages: Int, port: String) async throws -> [String: String] {
    let state = "\(folder)/\(messages)"
    let unlocked = "--state \(state)/messages --passphrase-fd 3 3<\(folder)/pass"
    let made = try String(contentsOfFile: "\(folder)/made", encoding: .utf8)
    let root = try #require(field("root", of: made))
    _ = try await shell(
      "\(program) messages setup --server http://127.0.0.1:\(port) --keys \(folder)/keys/keys.json --root \(root) "
        + unlocked)
    for number in 0..<messages {
      _ = try await shell("echo \(number) | \(program) messages write --to desk \(unlocked)")
    }
    let bus = try PrivateBus()
    let first = try await agent(state, bus, until: "metrics") { _ in [:] }
    var seen = try await agent(state, bus, until: "messages") { output in
      let port = try #require(output.split(separator: "\n").lazy.compactMap { field("port", of: $0) }.first)
      let looks = [
        "org.freedesktop.DBus.Properties.GetAll io.edgecoder.Agent1", "io.edgecoder.Agent1.GetEvents 100",
        "io.edgecoder.Tasks1.GetTasks", "io.edgecoder.AgentDetails1.GetStatus",
        "io.edgecoder.AgentDetails1.GetEvents 100", "io.edgecoder.AgentDetails1.GetTasks",
      ]
      let call = "gdbus call --address \(bus.address) --dest \(AgentBus.name) --object-path \(AgentBus.path) --method "
      return [
        "metrics": try await shell("curl --silent --fail http://127.0.0.1:\(port)/metrics"),
        "bus": try await shell(looks.map { call + $0 }.joined(separator: " && ")),
      ]
    }
    seen["first"] = first["output"]
    seen["status"] = try await shell("\(program) messages status --state \(state)/messages --json")
    seen["files"] = try await shell("cd \(state) && find . -printf '%p %s %m\\n' | sort")
    return seen.mapValues { Self.withoutTimes($0.replacing(state, with: "STATE")) }
  }

  /// Starts the agent, looks at it after its first event of a kind, and stops it.
  private func agent(
    _ state: String, _ bus: PrivateBus, until event: String, _ look: (String) async throws -> [String: String]
  ) async throws -> [String: String] {
    let file = "\(folder)/output"
    try "".write(toFile: file, atomically: false, encoding: .utf8)
    let agent = try ChildProcess(
      "sh",
      [
        "-c",
        "exec \(program) agent --state \(state) --bus \(bus.address) --messages --metrics-port 0 --json >\(file) 2>&1",
      ], environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": folder])
    try await eventually("the event \(event)") {
      try String(contentsOfFile: file, encoding: .utf8).contains("\"event\":\"\(event)\"")
    }
    var seen = try await look(try String(contentsOfFile: file, encoding: .utf8))
    agent.signal(SIGTERM)
    let status = await agent.outcome().status
    seen["output"] = try String(contentsOfFile: file, encoding: .utf8) + "status \(status)"
    return seen
  }

  private func shell(_ script: String) async throws -> String {
    let outcome = await (try ChildProcess("sh", ["-c", script], errors: .kept)).outcome()
    try #require(outcome.status == 0, "\(script): \(outcome.errors)")
    return outcome.output
  }

  /// The text without instants, ports and what the kernel says of each process to everybody, and with the members of
  /// each dictionary in one order.
  private static func withoutTimes(_ text: String) -> String {
    let text = text.replacing(/\d{10}(\d{3})?/, with: "TIME").replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/, with: "TIME")
      .replacing(/"port":\d+/, with: "PORT").replacing(/(?m)^(process_\w+) .+$/) { "\($0.output.1) NUMBER" }
    return text.split(separator: "\n").map { line in
      line.contains("{'") ? line.split(separator: #/[(){}]|, /#).sorted().joined(separator: "\n") : String(line)
    }.joined(separator: "\n")
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
