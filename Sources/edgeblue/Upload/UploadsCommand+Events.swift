import ArgumentParser
import Uploads

extension UploadsCommand {
  /// `edgeblue uploads events`
  struct Events: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "events", abstract: "Show what happened to items and accounts, and why, the newest last.",
      discussion: """
        The last \(QueueStore.eventLimit) events are kept; what happens again for the same reason is counted.
        """)

    @Argument(help: ArgumentHelp("The item; without it, all.", valueName: "id")) var id: Int64?
    @Option(help: ArgumentHelp("How many at most.", valueName: "n")) var limit = QueueStore.eventLimit
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let events = try queue.open().events(item: id, limit: limit)
        for event in events {
          if terminal.json { terminal.print(json: .object(event.json)) }
          terminal.say(UploadText.line(event))
        }
        if events.isEmpty { terminal.say("nothing has happened yet") }
      }
    }
  }
}

extension UploadText {
  /// One event in a line.
  /// - Parameter isNamed: whether it says what it is about.
  static func line(_ event: UploadEvent, isNamed: Bool = true) -> String {
    var time = Terminal.clock(atMs: event.lastAtMs)
    if event.times > 1 { time += " (\(event.times) times since \(Terminal.clock(atMs: event.atMs)))" }
    return "\(time)  \(said(event, isNamed: isNamed))"
  }

  /// One event without its time.
  static func said(_ event: UploadEvent, isNamed: Bool = true) -> String {
    let about: String? =
      if let item = event.item {
        "item \(item)" + (event.object.map { " \($0)" } ?? "")
      } else if let account = event.account {
        "account \(account)"
      } else if event.kind != .earlier {
        "the queue"
      } else {
        nil
      }
    let what = words(event.kind) + (event.kind == .failed ? event.failure.map { " (\($0.rawValue))" } ?? "" : "")
    let said = [isNamed ? about : nil, what].compactMap { $0 }.joined(separator: " ")
    return said.printable + (event.reason.map { ": \($0.printable)" } ?? "")
  }

  private static func words(_ kind: UploadEvent.Kind) -> String {
    switch kind {
    case .failed: "failed"
    case .gaveUp: "failed for good"
    case .done: "is uploaded"
    case .retried: "is to be tried again"
    case .paused: "is held"
    case .resumed: "goes on"
    case .dropped: "was dropped"
    case .credentialsMissing: "has no credentials"
    case .credentialsFound: "has credentials"
    case .earlier: "earlier"
    }
  }
}

extension UploadEvent {
  /// The event for programs.
  var json: [String: JSON] {
    [
      "id": .number(Int(id)), "atMs": .number(Int(atMs)), "lastAtMs": .number(Int(lastAtMs)), "times": .number(times),
      "event": .string(kind.rawValue), "item": JSON(item.map { Int($0) }), "object": JSON(object),
      "account": JSON(account), "failure": JSON(failure?.rawValue), "reason": JSON(reason),
    ]
  }
}
