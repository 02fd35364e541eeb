import Agent
import ArgumentParser

/// `edgeblue events`
struct EventsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "events",
    abstract: "Print the events of the agent, with their reasons.",
    discussion: """
      Requires a running `edgeblue agent`. All users may read its events; the reasons of failures only root and members \
      of the group edgeblue. The files events.jsonl and events.jsonl.1 in \
      the agent's folder contain earlier ones.

      EXAMPLES
        edgeblue events
        edgeblue events --limit 3 --json
      """)

  @Option(help: ArgumentHelp("The limit of printed events, 1 to \(EventLog.memoryLimit).", valueName: "n"))
  var limit = EventLog.memoryLimit
  @OptionGroup var bus: BusOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--limit", limit, 1...EventLog.memoryLimit)
  }

  func run() async throws {
    try await common.run { terminal in
      let client = try await bus.client()
      for event in try await client.events(limit: limit) {
        if terminal.json { terminal.print(json: .object(event.json)) }
        terminal.say("\(terminal.paint(Terminal.clock(atMs: event.atMs), .dim))  \(event.text.printable)")
      }
    }
  }
}
