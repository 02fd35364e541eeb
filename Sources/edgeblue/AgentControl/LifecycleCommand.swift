import ArgumentParser
import JSONValues
import SystemState

/// `edgeblue lifecycle`
struct LifecycleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lifecycle",
    abstract: "Print or set the lifecycle phase of the agent: foreground or background.",
    discussion: """
        foreground  background tasks wait
        background  background tasks run
        auto        as the system reports (the default)

      With auto, the agent follows the session that it runs in: it is in the background while the session is locked, \
      idle or inactive. A service has no session and is in the foreground. Before system sleep, the agent is suspending \
      in any case, and its background tasks end first.

      The choice persists across restarts. On the system bus, only root and members of the group edgeblue may set it. \
      `edgeblue tasks` lists the tasks.

      EXAMPLES
        edgeblue lifecycle
        edgeblue lifecycle background
        edgeblue lifecycle --json | jq -r .phase
      """)

  @Argument(
    help: "The phase to set: foreground, background or auto. Default: print the current phase.",
    completion: .words(LifecycleChoice.self),
    transform: named)
  var choice: LifecycleChoice?
  @OptionGroup var bus: BusOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let client = try await bus.client()
      let status = if let choice { try await client.choose(lifecycle: choice) } else { try await client.status() }
      guard let lifecycle = status.lifecycle else {
        throw Failure(
          "the agent does not report its lifecycle phase", hint: "it may have just started, or have another version",
          status: .tryAgain)
      }
      if terminal.json { terminal.print(json: .object(lifecycle.json)) }
      terminal.say(lifecycle.text)
    }
  }
}

extension LifecycleSnapshot {
  /// The phase and its reason, for display.
  var text: String {
    // Only before system sleep does the phase differ from the choice.
    let rest = reason == .sleep && choice != .auto ? "; \(choice.rawValue) is selected" : ""
    return "\(phase): \(reason)\(rest)"
  }

  var json: [String: JSONValue] {
    ["phase": .string(phase.rawValue), "reason": .string(reason.rawValue), "choice": .string(choice.rawValue)]
  }
}
