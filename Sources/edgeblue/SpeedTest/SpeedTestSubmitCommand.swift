import ArgumentParser
import SpeedTest
import SpeedTestNIO

/// `edgeblue speedtest submit`
struct SpeedTestSubmitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "submit", abstract: "Submit the results that control servers have not confirmed yet.",
    discussion: """
      `edgeblue speedtest --control` submits them, too: those for the same control server. A result is submitted once, \
      also when a connection was lost or a program was killed meanwhile. With --json there is one object on each line.
      """)

  @Flag(help: "List them without submitting any.") var list = false
  @Option(
    help: ArgumentHelp("A PEM file with certificates to trust besides the system's.", valueName: "file"),
    completion: .file())
  var ca: String?
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let outbox = try state.folder().outbox
      let reports: [SubmissionReport]
      if list {
        reports = try outbox.reports()
      } else {
        let transport = try ControlHTTPTransport(certificates: ca, language: ControlDevice.system.language)
        reports = try await untilInterrupted { try await outbox.submit(by: transport) }
      }
      if reports.isEmpty { terminal.say("No result waits.") }
      for report in reports { show(report, terminal) }
      guard !list, let open = reports.first(where: { $0.outcome != .submitted }) else { return }
      if case .declined(let reason) = open.outcome { throw SpeedTestError(.declined, reason) }
      throw Failure("not all results are submitted", status: .tryAgain)
    }
  }

  private func show(_ report: SubmissionReport, _ terminal: Terminal) {
    if terminal.json {
      terminal.print(json: [
        "test": .string(report.test), "server": .string(report.server), "qos": .bool(report.isQoS),
        "attempts": .number(report.attempts), "outcome": report.outcome?.json ?? .null,
      ])
    }
    let words = report.outcome?.words ?? "waits, \(report.attempts == 1 ? "1 attempt" : "\(report.attempts) attempts")"
    terminal.say("\(report.test)\(report.isQoS ? " (QoS)" : "")  \(report.server.printable)  \(words.printable)")
  }
}
