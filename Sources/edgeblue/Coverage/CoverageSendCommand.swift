import ArgumentParser
import Coverage
import Foundation
import JSONValues

/// `edgeblue coverage send`
struct CoverageSendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send", abstract: "Send the stored sessions to their control servers.",
    discussion: """
      The oldest is sent first, each one once, and none holds up another. What a killed program has left is finished and \
      sent, too; what is being measured is not. A session that was refused five times stays until it is 7 days old. The \
      exit status is 75 if one still waits. With --json there is one object on each line.
      """)

  @OptionGroup var sending: CoverageSendingOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let folder = try sending.state.folder()
      guard let store = try folder.existingStore() else { return terminal.say(folder.emptiness) }
      let destination = try sending.uploads.destination(in: folder)
      let servers = Set(try store.sessions().map(\.server)).sorted()
      if servers.isEmpty { terminal.say(folder.emptiness) }
      for server in servers {
        try sending.insecure.check(["the server": server], terminal)
        let control = try sending.control(server, in: folder, acceptsTerms: false)
        let sender = CoverageSender(store: store, server: server, transport: control, destination: destination)
        try await Self.send(sender, terminal)
      }
      guard try store.sessions().allSatisfy({ $0.finalizedUs == nil }) else {
        throw Failure(
          "not all sessions are sent", hint: "`edgeblue coverage list` shows the reasons", status: .tryAgain)
      }
    }
  }

  /// Sends the sessions of a server, and prints what became of each.
  static func send(_ sender: CoverageSender, _ terminal: Terminal) async throws {
    show(try await untilInterrupted { try await sender.send() }, terminal)
  }

  /// Prints what became of each session.
  /// - Parameters:
  ///   - prefix: The beginning of each line of text.
  ///   - event: The beginning of the name of each event.
  static func show(_ summary: CoverageSender.Summary, _ terminal: Terminal, prefix: String = "", event: String = "") {
    for report in summary.reports {
      let (state, reason): (String, String?) =
        switch report.outcome {
        case .delivered: ("sent", nil)
        case .waiting(let reason): ("waits", reason)
        case .refused(let reason): ("refused", reason)
        }
      let count = report.fences == 1 ? "1 fence" : "\(report.fences) fences"
      terminal.happened(
        prefix + "session \(report.id), \(count): \(state)" + (reason.map { ": \($0)" } ?? ""), event + "sending",
        [
          "id": .number(Int(report.id)), "fences": .number(report.fences), "state": .string(state),
          "reason": JSONValue(reason),
        ])
    }
    if summary.outdated > 0 {
      terminal.happened(
        prefix + "\(summary.outdated) sessions were older than 7 days, and are removed", event + "outdated",
        ["count": .number(summary.outdated)])
    }
  }
}
