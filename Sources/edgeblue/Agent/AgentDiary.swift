import Agent
import Streams

/// Prints the events of the agent, to a terminal or the journal.
struct AgentDiary: Sendable {
  private let events: BoundedStream<AgentEvent>
  private let terminal: Terminal

  init(_ log: EventLog, _ terminal: Terminal) {
    events = log.events()
    self.terminal = terminal
  }

  func follow() async {
    for await event in events { terminal.happened(event.text.printable, event.kind.rawValue, event.json) }
  }
}
