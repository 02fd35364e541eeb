import ArgumentParser

/// `edgeblue doctor`
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check what the other commands need, and print how to correct what is missing.",
    discussion: """
      Changes nothing. The exit status is 69 if something essential is missing.

      EXAMPLES
        edgeblue doctor
        edgeblue doctor --adapter hci1 --engine openai --engine-url http://127.0.0.1:8080
        edgeblue doctor --json
      """)

  @OptionGroup var adapter: AdapterOptions
  @OptionGroup var engine: EngineOptions
  @OptionGroup var bonds: BondOptions
  @OptionGroup var insecure: InsecureOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      try insecure.check(["--engine-url": engine.server.url], terminal)
      let daemon = await BlueZChecks(adapter: adapter.adapter, bonds: try bonds.store()).report()
      var findings = SystemChecks(release: daemon.release).findings() + daemon.findings
      findings.append(await EngineChecks.finding(engine))
      findings += await AgentChecks.findings()
      findings += UploadsChecks.findings(try QueueOptions(state: bonds.state).look())
      let worst = findings.map(\.level).max() ?? .ok
      if common.json {
        terminal.print(
          json: .object(["ok": .bool(worst != .fail), "checks": .array(findings.map(\.json))]))
      } else {
        for finding in findings { finding.show(on: terminal) }
        terminal.say()
        terminal.say(Self.conclusion(findings))
      }
      if worst == .fail { throw ExitStatus.unavailable.code }
    }
  }

  static func conclusion(_ findings: [Finding]) -> String {
    let fails = findings.count { $0.level == .fail }
    let warnings = findings.count { $0.level == .warn }
    if fails > 0 { return "\(fails) of \(findings.count) checks failed; correct the first one first." }
    return warnings > 0
      ? "Nothing essential is missing; \(warnings) \(warnings == 1 ? "warning" : "warnings")." : "All checks passed."
  }
}
