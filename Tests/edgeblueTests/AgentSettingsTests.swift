import Agent
import Foundation
import Testing

@testable import edgeblue

@Suite("The agent's settings in the table, the options and the documentation") struct AgentSettingsTests {
  private func configured(
    _ given: [String] = [], file text: String = "{}", _ environment: [String: String] = [:]
  ) throws -> AgentCommand {
    let file = FileManager.default.temporaryDirectory.appending(path: "agent-\(UUID().uuidString).json")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return try AgentCommand.configured(given, file: file.path, environment: environment)
  }

  @Test("Settings of a file and of variables become options") func settingsBecomeOptions() throws {
    let file = #"{"engine": "ollama", "engine-url": "http://a:1", "pace-ms": 20, "allow": ["00:AA:01:00:00:42"]}"#
    let command = try configured(["--model", "m"], file: file, ["EDGEBLUE_AGENT_PACE_MS": "30"])
    #expect(command.phone.engine.engine == .ollama)
    #expect(command.phone.engine.server.url == "http://a:1")
    #expect(command.phone.engine.server.model == "m")
    #expect(command.phone.paceMs == 30)
    #expect(command.phone.access.allow.map(\.description) == ["00:AA:01:00:00:42"])
  }

  @Test("The coverage measurement can be set in a file, and its settings stay while it is off") func coverage() throws {
    let file = #"{"control": "https://c", "place": "48.2,-16.37", "track": "t"}"#
    #expect(throws: Failure.self) { try configured(file: file) }
    let place = #"{"control": "https://c", "place": "48.2,-16.37", "interface": "wwan0", "signal": true}"#
    #expect(try configured(file: place).coverage.server == nil)
    let command = try configured(["--coverage"], file: place)
    #expect(command.coverage.server == "https://c")
    #expect(command.coverage.location.place?.longitude == -16.37)
    #expect(command.coverage.interface == "wwan0")
    #expect(command.coverage.signal)
  }

  @Test("The assignment policy can be set in a file and in a variable") func whenWorkIsAskedForIsASetting() throws {
    #expect(try configured().coordinator.policy() == .flowChart(FlowChart()))
    let own = try configured(file: #"{"battery-threshold": 35}"#)
    #expect(try own.coordinator.policy() == .flowChart(FlowChart(batteryThreshold: 35)))
    let phone = try configured(["--battery-threshold", "30"], file: #"{"assignment": "phone"}"#)
    #expect(try phone.coordinator.policy() == .coordinatorPhone(CoordinatorPhoneTable(batteryStopLevel: 30)))
    let machine = try configured([], file: "{}", ["EDGEBLUE_AGENT_ASSIGNMENT": "machine"])
    #expect(try machine.coordinator.policy() == .coordinatorMachine)
  }

  @Test(
    "The error of an invalid setting names its source",
    arguments: [
      (#"{"engine": "x"}"#, [:], ".json:1:2: The value 'x'"),
      (#"{"engine-url": "http://a:1"}"#, [:], "The echo engine has no"),
      (
        "{}", ["EDGEBLUE_AGENT_PACE_MS": "5000"],
        "the variable EDGEBLUE_AGENT_PACE_MS: --pace-ms: allowed are 0 to 1000"
      ),
      (#"{"battery-threshold": 101}"#, [:], ".json:1:2: --battery-threshold: allowed are 0 to 100"),
      (#"{"assignment": "machine", "battery-threshold": 5}"#, [:], "thresholds of its own"),
      (#"{"coverage": true}"#, [:], "--coverage needs a control server"),
      (#"{"coverage": true, "control": "https://c"}"#, [:], "--coverage needs a source of locations"),
      (#"{"gpsd": "h", "geoclue": true}"#, [:], "exclude each other"),
      (#"{"engine": "openai"}"#, ["EDGEBLUE_AGENT_LINK": "x"], "the variable EDGEBLUE_AGENT_LINK: "),
    ] as [(String, [String: String], String)])
  func whoIsToBlameIsNamed(file: String, environment: [String: String], message: String) throws {
    let failure = try #require(throws: Failure.self) { try configured(file: file, environment) }
    #expect(failure.message.contains(message))
    #expect(failure.status == .badInput)
  }

  @Test("Every option of the agent is a setting, and documented") func everyOptionIsASettingAndDocumented() throws {
    let help = AgentCommand.helpMessage()
    let options = try #require(help.range(of: "OPTIONS:")).upperBound
    let names = Set(help[options...].matches(of: /(?m)^ +(?:-h, )?--([a-z-]+)/).map { String($0.1) })
    let settings = Set(AgentSettings.all.known.map(\.name))
    #expect(names.subtracting(["config", "help", "version"]) == settings)

    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/agent.md")
    let rows = try String(contentsOf: page, encoding: .utf8).matches(of: /(?m)^\| `([a-z-]+)` \| (\w+) \|/)
    #expect(rows.map { String($0.1) } == AgentSettings.all.known.map(\.name))
    #expect(rows.map { String($0.2) } == AgentSettings.all.known.map { "\($0.kind)" })
  }
}
