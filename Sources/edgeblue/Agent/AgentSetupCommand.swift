import Agent
import ArgumentParser
import Foundation

/// `edgeblue agent setup`
struct AgentSetupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Ask for the settings of the installed agent, write and check them, and start it.",
    discussion: """
      Looks for Ollama, llama.cpp and LM Studio on this machine, asks for what no option says, and writes the answers \
      into the settings file; other settings in it stay as they are. A registration token goes into a file of its own, \
      which only root can read. Where systemd runs and the file is that of the installed agent, the service is started \
      again with the new settings, and the mode is selected.

      EXAMPLES
        sudo edgeblue agent setup
        sudo edgeblue agent setup --yes --coordinator https://coordinator.example --registration-token-file token.txt
        edgeblue agent setup --config agent.json --no-start
      """)

  @Option(help: "The kind of the engine: ollama or openai. Default: the one that runs.") var engine: EngineOptions.Kind?
  @Option(help: ArgumentHelp("The URL of the engine. Default: that of the one that runs.", valueName: "url"))
  var engineUrl: String?
  @Option(
    help: ArgumentHelp("The model. Default: the one that the engine has loaded or lists first.", valueName: "name"))
  var model: String?
  @Option(help: ArgumentHelp("The URL of the coordinator for mode On.", valueName: "url")) var coordinator: String?
  @Option(
    help: ArgumentHelp("A file whose first line is the registration token.", valueName: "file"), completion: .file())
  var registrationTokenFile: String?
  @Option(help: ArgumentHelp("The advertised name, at most 26 bytes.", valueName: "name")) var name: String?
  @Option(help: "Run only on external power: yes or no.") var onlyWhileCharging: ModeCommand.YesOrNo?
  @Option(help: "The use of a metered network: pause, spare or ignore.") var metered: MeteredPolicy?
  @Option(help: "The mode to select: off, on or local.", completion: .modes, transform: ModeCommand.mode)
  var mode: ComputeMode?
  @Option(
    help: ArgumentHelp("The settings file. Default: \(AgentSettings.usualFile).", valueName: "file"),
    completion: .file())
  var config = AgentSettings.usualFile
  @Flag(name: [.long, .customShort("y")], help: "Ask no questions: what no option says has its default.")
  var yes = false
  @Flag(help: "Only write and check the settings.") var noStart = false
  @OptionGroup var insecure: InsecureOptions
  @OptionGroup var bus: BusOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      try insecure.check(["--engine-url": engineUrl, "--coordinator": coordinator], terminal)
      try await untilInterrupted { try await setUp(terminal) }
    }
  }

  private func setUp(_ terminal: Terminal) async throws {
    let file = SettingsFile(path: config)
    // Before any question: answers that cannot be written are asked for in vain.
    try file.checkIsWritable()
    let questions = Questions(terminal: terminal, areSkipped: yes || terminal.json)
    let answers = try await self.answers(questions, terminal)
    try insecure.check(
      ["--engine-url": answers.settings["engine-url"], "--coordinator": answers.coordinator], terminal)
    try file.write(answers, token: try token(answers))
    let command = try AgentCommand.configured([], file: config, environment: [:])
    let findings = await SetupCheck(command: command).findings()
    if terminal.json {
      terminal.print(json: .object(["file": .string(config), "checks": .array(findings.map(\.json))]))
    }
    for finding in findings { finding.show(on: terminal) }
    terminal.say("The settings are in \(config.printable).")
    guard !noStart, config == AgentSettings.usualFile, AgentUnit.isManaged else {
      terminal.say("Start the agent with `edgeblue agent --config \(config.printable)`.")
      return
    }
    try await AgentUnit.restart()
    let client = try await AgentClient.open(on: bus.bus)
    try await client.setRunOnlyWhileCharging(answers.onlyWhileCharging)
    try await client.choose(answers.mode)
    terminal.print(try await client.status())
  }

  private func token(_ answers: SetupAnswers) throws -> String? {
    if let registrationTokenFile { return try SecretText.line(of: registrationTokenFile) }
    return try answers.token.map { try SecretText.checked($0, in: "the answer") }
  }

  // MARK: The questions

  private func answers(_ questions: Questions, _ terminal: Terminal) async throws -> SetupAnswers {
    var answers = SetupAnswers()
    answers.isInsecure = insecure.insecure
    let chosen = try await engine(questions, terminal)
    if let chosen {
      answers.settings["engine"] = chosen.kind.rawValue
      answers.settings["engine-url"] = chosen.url
      let model = if let model { model } else { try await questions.ask("Model", default: chosen.model ?? "") }
      if !model.isEmpty { answers.settings["model"] = model }
    }
    let url =
      if let coordinator { coordinator } else {
        try await questions.ask("URL of the coordinator, empty for none", default: "") { text in
          let isAllowed = text.isEmpty || URL(string: text)?.host() != nil
          return isAllowed ? nil : "That is no URL, such as https://coordinator.example."
        }
      }
    if !url.isEmpty {
      answers.settings["coordinator"] = url
      if registrationTokenFile == nil {
        let token = try await questions.ask("Registration token, empty for none", default: "", isSecret: true)
        answers.token = token.isEmpty ? nil : token
      }
    }
    let advertised =
      if let name { name } else {
        try await questions.ask("Name of this machine, empty for its host name", default: "")
      }
    if !advertised.isEmpty { answers.settings["name"] = advertised }
    try await askPolicies(questions, &answers)
    return answers
  }

  private func askPolicies(_ questions: Questions, _ answers: inout SetupAnswers) async throws {
    let only =
      if let onlyWhileCharging { onlyWhileCharging.rawValue } else {
        try await questions.ask("Run only on external power, yes or no", default: "no") {
          ["yes", "no"].contains($0) ? nil : "Allowed are yes and no."
        }
      }
    answers.onlyWhileCharging = only == "yes"
    let policy =
      if let metered { metered.rawValue } else {
        try await questions.ask("On a metered network: pause, spare or ignore", default: MeteredPolicy.spare.rawValue) {
          MeteredPolicy(rawValue: $0) != nil ? nil : "Allowed are pause, spare and ignore."
        }
      }
    answers.settings["metered"] = policy
    if let mode {
      answers.mode = mode
      return
    }
    let canWork = answers.coordinator != nil && answers.settings["engine"] != nil
    let word = try await questions.ask("Mode: on, local or off", default: canWork ? "on" : "off") {
      (try? ModeCommand.mode($0)) != nil ? nil : "Allowed are on, local and off."
    }
    answers.mode = try ModeCommand.mode(word)
  }

  /// Returns the engine: as the options say, else the one that runs, or the one that the user chooses of several.
  private func engine(_ questions: Questions, _ terminal: Terminal) async throws -> FoundEngine? {
    if engine == .echo { throw Failure("the echo engine only repeats prompts, which is no work", status: .badInput) }
    if let engineUrl {
      let kind = engine ?? .openai
      let named = FoundEngine(title: kind.rawValue, kind: kind, url: engineUrl)
      return await EngineFinder.look(named) ?? named
    }
    let found = await EngineFinder.find(EngineFinder.usual.filter { engine == nil || $0.kind == engine })
    if found.isEmpty { terminal.say("Neither Ollama nor llama.cpp nor LM Studio runs at its usual address.") }
    for (number, engine) in found.enumerated() { terminal.say("  \(number + 1)  \(engine.line)") }
    let answer = try await questions.ask(
      found.isEmpty
        ? "URL of a server with OpenAI's API, empty for none" : "Engine, a number, or the URL of another one",
      default: found.isEmpty ? "" : "1"
    ) { text in
      let isNumber = Int(text).map { (1...max(found.count, 1)).contains($0) && !found.isEmpty } ?? false
      return text.isEmpty || isNumber || URL(string: text)?.host() != nil ? nil : "That is neither a number nor a URL."
    }
    if let number = Int(answer) { return found[number - 1] }
    guard !answer.isEmpty else { return nil }
    let named = FoundEngine(title: "openai", kind: .openai, url: answer)
    return await EngineFinder.look(named) ?? named
  }
}

/// The answers of the user.
struct SetupAnswers: Sendable {
  /// The settings, by their names in the file.
  var settings: [String: String] = [:]
  var token: String?
  var onlyWhileCharging = false
  var mode = ComputeMode.off
  /// A Boolean value that indicates whether plain http to other hosts is permitted.
  var isInsecure = false

  var coordinator: String? { settings["coordinator"] }
}
