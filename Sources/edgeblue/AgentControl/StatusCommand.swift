import Agent
import ArgumentParser

/// `edgeblue status`
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Print the state of the agent, and the reasons for it.",
    discussion: """
      Requires a running `edgeblue agent`. All users may read its state; reasons, addresses and identifiers only root and \
      members of the group edgeblue. With --watch it prints the state after every change.

      EXAMPLES
        edgeblue status
        edgeblue status --watch
        edgeblue status --json | jq .runState
      """)

  @Flag(help: "Continue, and print every change, until Ctrl-C.") var watch = false
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
        // Ctrl-C ends --watch.
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
