import ArgumentParser
import JSONValues
import Uploads

extension UploadsCommand {
  /// `edgeblue uploads events`
  struct Events: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "events", abstract: "Print the events of items and accounts, with their reasons, newest last.",
      discussion: """
        The last \(QueueStore.eventLimit) events are stored; repetitions for the same reason are counted.
        """)

    @Argument(help: ArgumentHelp("The number of an item. Default: all items and accounts.", valueName: "id")) var id:
      Int64?
    @Option(help: ArgumentHelp("The limit of printed events.", valueName: "n")) var limit = QueueStore.eventLimit
    @OptionGroup var queue: QueueOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { terminal in
        let events = try queue.look().events(item: id, limit: limit)
        for event in events {
          if terminal.json { terminal.print(json: .object(event.json)) }
          for line in UploadText.lines(event) { terminal.say(line) }
        }
        if events.isEmpty { terminal.say("there are no events in \(try queue.folder.printable)") }
      }
    }
  }
}

extension UploadText {
  /// Returns an event on one line.
  /// - Parameter isNamed: `true` to include the item or account.
  static func line(_ event: UploadEvent, isNamed: Bool = true) -> String {
    var time = Terminal.clock(atMs: event.lastAtMs)
    if event.times > 1 { time += " (\(event.times) times since \(Terminal.clock(atMs: event.atMs)))" }
    return "\(time)  \(said(event, isNamed: isNamed))"
  }

  /// Returns an event in lines that fit the 80 columns of a terminal.
  static func lines(_ event: UploadEvent, isNamed: Bool = true) -> [String] {
    let line = line(event, isNamed: isNamed)
    return line.columns <= 80 ? [line] : line.wrapped(to: 78).enumerated().map { ($0 == 0 ? "" : "  ") + $1 }
  }

  /// Returns an event without its time.
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
    case .gaveUp: "failed permanently"
    case .done: "uploaded"
    case .retried: "queued again by the user"
    case .paused: "paused"
    case .resumed: "resumed"
    case .dropped: "dropped"
    case .moved: "moved to another server"
    case .partsRemoved: "removed parts from the server"
    case .unsettled: "uploaded, but its local files are not settled"
    case .conditionIgnored: "found a limitation of the server"
    case .notQueued: "did not take a file"
    case .credentialsMissing: "waits for credentials"
    case .credentialsFound: "has credentials again"
    case .earlier: "earlier"
    }
  }
}

extension UploadEvent {
  /// The event in JSON.
  var json: [String: JSONValue] {
    [
      "id": .number(Int(id)), "atMs": .number(Int(atMs)), "lastAtMs": .number(Int(lastAtMs)), "times": .number(times),
      "event": .string(kind.rawValue), "item": JSONValue(item.map { Int($0) }), "object": JSONValue(object),
      "account": JSONValue(account), "failure": JSONValue(failure?.rawValue), "reason": JSONValue(reason),
    ]
  }
}
