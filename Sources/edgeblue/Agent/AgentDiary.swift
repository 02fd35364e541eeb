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
    for await event in events {
      terminal.happened(event.text.printable, event.kind.rawValue, event.json, severity: event.kind.severity)
    }
  }
}

extension AgentEvent.Kind {
  /// The severity of such an event in the journal.
  var severity: Journal.Severity {
    switch self {
    case .failed, .storage: .error
    case .downgraded, .blocked: .warning
    case .networkReturned, .returned, .coordinator: .notice
    default: .info
    }
  }
}
