import Agent
import ArgumentParser

/// `edgeblue status`
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show what the agent does, and why.",
    discussion: """
      Asks the agent that `edgeblue agent` started; everybody may. With --watch it goes on and tells whenever something \
      changes.

      EXAMPLES
        edgeblue status
        edgeblue status --watch
        edgeblue status --json | jq .runState
      """)

  @Flag(help: "Go on, and tell of every change until Ctrl-C.") var watch = false
  @OptionGroup var bus: BusOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let client = try await AgentClient.open(on: bus.bus)
      guard watch else { return terminal.print(try await client.status()) }
      do {
        try await untilInterrupted {
          try await client.follow { status in
            terminal.print(status)
            terminal.say()
          }
        }
      } catch is CancellationError {
        // That is how watching ends.
      }
    }
  }
}

extension Terminal {
  func print(_ status: AgentStatus) {
    if json { print(json: .object(status.json)) }
    for line in status.lines { say(line) }
  }
}
