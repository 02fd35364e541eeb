import Agent
import ArgumentParser
import SystemState

/// `edgeblue lifecycle`
struct LifecycleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lifecycle",
    abstract: "Show or choose whether the agent is in the foreground or in the background.",
    discussion: """
        foreground  background tasks wait
        background  background tasks run
        auto        what the system says

      By itself the agent follows the session it runs in: in the background while that is locked, idle or not the one in \
      use. Where there is none to follow, as for a service, it is in the foreground. While the machine is about to sleep \
      the agent is suspending, whatever was chosen, and its background tasks come to an end first.

      The choice holds also after a restart. On the system bus root and the group edgeblue may choose. `edgeblue tasks` \
      shows the tasks.

      EXAMPLES
        edgeblue lifecycle
        edgeblue lifecycle background
        edgeblue lifecycle --json | jq -r .phase
      """)

  @Argument(
    help: "What it is to be: foreground, background or auto. Without it, what it is is shown.",
    transform: { text in
      guard let choice = LifecycleChoice(rawValue: text) else {
        throw ValidationError("A phase is foreground, background or auto.")
      }
      return choice
    })
  var choice: LifecycleChoice?
  @OptionGroup var bus: BusOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let client = try await AgentClient.open(on: bus.bus)
      let status = if let choice { try await client.choose(lifecycle: choice) } else { try await client.status() }
      guard let lifecycle = status.lifecycle else {
        throw Failure(
          "the agent does not say", hint: "it may have just begun, or be of another version", status: .tryAgain)
      }
      if terminal.json { terminal.print(json: .object(lifecycle.json)) }
      terminal.say(lifecycle.text)
    }
  }
}

extension LifecycleSnapshot {
  /// For a person.
  var text: String {
    // What they chose is not what they got only while the machine goes to sleep.
    let rest = reason == .sleep && choice != .auto ? "; \(choice.rawValue) was chosen" : ""
    return "\(phase): \(reason)\(rest)"
  }

  var json: [String: JSON] {
    ["phase": .string(phase.rawValue), "reason": .string(reason.rawValue), "choice": .string(choice.rawValue)]
  }
}
