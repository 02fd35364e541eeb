import EdgeCoder
import JSONValues

/// Prints the events of a phone.
struct PhoneDiary: Sendable {
  /// The values that a line needs from earlier events.
  private struct Memory {
    var model: String?
    var answeringSince: ContinuousClock.Instant?
    /// A Boolean value that indicates whether the phone was reachable last.
    var isUp = false
  }

  let terminal: Terminal

  /// Prints events until the task is cancelled.
  func follow(_ phone: PhoneService) async {
    var memory = Memory()
    let events = await phone.events()
    var lost = 0
    for await event in events {
      if events.dropped > lost {
        lost = events.dropped
        terminal.happened("\(lost) events were lost", "eventsLost", ["dropped": .number(lost)])
      }
      report(event, &memory)
    }
  }

  private func report(_ event: PhoneEvent, _ memory: inout Memory) {
    switch event {
    case .up, .down: reportService(event, &memory)
    case .status(let status):
      guard status.modelState != memory.model else { return }
      memory.model = status.modelState
      terminal.happened(
        "model: \(status.modelState.printable)", "model",
        ["modelState": .string(status.modelState), "batteryPct": JSONValue(status.batteryPct)])
    case .centrals(let count):
      terminal.happened("centrals connected: \(count)", "centrals", ["connected": .number(count)])
    case .request(let number, let bytes, let waiting):
      terminal.happened(
        "prompt \(number): a request of \(bytes) bytes\(waiting > 0 ? ", \(waiting) waiting" : "")", "prompt",
        ["number": .number(number), "bytes": .number(bytes), "waiting": .number(waiting)])
    case .answering: memory.answeringSince = .now
    case .replySent(let number, let bytes, let chunks):
      let time = memory.answeringSince.take().map { " after \(Self.seconds(.now - $0)) s" } ?? ""
      terminal.happened(
        "reply \(number): \(bytes) bytes in \(chunks) \(chunks == 1 ? "chunk" : "chunks")\(time)", "reply",
        ["number": .number(number), "bytes": .number(bytes), "chunks": .number(chunks)])
    case .engineFailed: terminal.happened("the engine failed", "engineFailed")
    case .replyFailed: terminal.happened("a reply could not be sent", "replyFailed")
    case .cancelled: terminal.happened("a central disconnected before its reply", "cancelled")
    case .busy: terminal.happened("a prompt was refused: the phone is busy", "busy")
    case .accessRefused(let reason):
      let remedy = reason == .notAdmitted ? " (`edgeblue pair list` shows it, `edgeblue pair adopt` admits it)" : ""
      terminal.happened(
        "a central without access was refused: \(reason.rawValue)\(remedy)", "accessRefused",
        ["reason": .string(reason.rawValue)])
    case .writeRefused: terminal.happened("a write was refused", "writeRefused")
    case .malformed: terminal.happened("a malformed request was rejected", "malformed")
    }
  }

  private func reportService(_ event: PhoneEvent, _ memory: inout Memory) {
    let isUp = event == .up
    guard isUp != memory.isUp else { return }
    memory.isUp = isUp
    terminal.happened(isUp ? "advertising" : "no longer advertising", isUp ? "up" : "down")
  }

  /// Prints the totals when the phone has stopped.
  func conclude(_ counters: PhoneCounters) {
    terminal.say()
    let refused = counters.refused
    terminal.happened(
      "stopped; \(counters.requests) prompts, \(counters.replies) replies, \(counters.engineFailures) engine failures",
      "stopped",
      [
        "requests": .number(counters.requests), "replies": .number(counters.replies),
        "engineFailures": .number(counters.engineFailures), "cancelled": .number(counters.cancelled),
        "malformed": .number(refused.malformed), "repliesFailed": .number(counters.repliesFailed),
        "busy": .number(refused.busy), "limited": .number(refused.limited),
        "writesRefused": .number(refused.writes),
        "accessRefused": .number(refused.accesses),
      ])
  }

  static func seconds(_ duration: Duration) -> String {
    let tenths = Int((duration / .milliseconds(100)).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
