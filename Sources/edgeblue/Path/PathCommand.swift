import ArgumentParser
import NetworkPath

/// `edgeblue path`
struct PathCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "path",
    abstract: "Print the default route and its interface.",
    discussion: """
      Reads from the kernel; requires neither root nor NetworkManager. With --watch it prints every change and its \
      reason. Without --watch, the exit status is 69 if there is no default route.

      EXAMPLES
        edgeblue path
        edgeblue path --watch
        edgeblue path --watch --settle-up 2000
        edgeblue path --probe http://connectivity-check.ubuntu.com
        edgeblue path --probe http://detectportal.firefox.com/success.txt --probe-text success
        edgeblue path --json | jq .status
      """)

  @Flag(help: "Continue, and print every change, until Ctrl-C.") var watch = false
  @Option(
    help: ArgumentHelp(
      "The settle time of a loss: how long it must last before it is printed, 0 to 60000 ms.", valueName: "ms"))
  var settleDown = 150
  @Option(help: ArgumentHelp("The settle time of a new default route, 0 to 60000 ms.", valueName: "ms"))
  var settleUp = 500
  @Option(
    help: ArgumentHelp(
      "Also probe this http or https URL, which must answer with a status of 200 to 299; a captive portal redirects.",
      valueName: "url"),
    transform: reading("an http or https URL") { HTTPProbe($0) == nil ? nil : $0 })
  var probe: String?
  @Option(
    help: ArgumentHelp(
      "The text that the page of --probe contains: a portal's page may have status 200, too.", valueName: "text"))
  var probeText: String?
  @OptionGroup var common: CommonOptions

  func validate() throws {
    try checkRange(of: "--settle-down", settleDown, 0...60_000, unit: "ms")
    try checkRange(of: "--settle-up", settleUp, 0...60_000, unit: "ms")
    guard probe != nil || probeText == nil else { throw ValidationError("--probe-text requires --probe.") }
  }

  func run() async throws {
    try await common.run { terminal in
      var options = NetworkPathMonitor.Options.withNetworkManager
      options.settleDown = .milliseconds(settleDown)
      options.settleUp = .milliseconds(settleUp)
      options.probe = probe.flatMap { HTTPProbe($0, text: probeText) }
      // Whoever looks once wants NetworkManager's word, not a guess.
      options.meteredTimeout = .seconds(5)
      let monitor = try await NetworkPathMonitor.start(options)
      if watch {
        try await follow(monitor, terminal)
      } else {
        try await show(monitor, terminal)
      }
    }
  }

  private func show(_ monitor: NetworkPathMonitor, _ terminal: Terminal) async throws {
    var path = monitor.path
    if probe != nil, !path.gateways.isEmpty {
      path = try await untilInterrupted {
        for await update in monitor.updates() where update.path.reachability != nil { return update.path }
        throw CancellationError()
      }
    }
    terminal.print(path)
    if path.status != .satisfied { throw ExitStatus.unavailable.code }
  }

  private func follow(_ monitor: NetworkPathMonitor, _ terminal: Terminal) async throws {
    do {
      try await untilInterrupted {
        for await update in monitor.updates() { terminal.report(update) }
        try Task.checkCancellation()
        throw monitor.problem ?? NetworkPathError(.unavailable, "the kernel reports no further changes")
      }
    } catch is CancellationError {
      // Ctrl-C ends --watch.
    }
  }
}

extension Terminal {
  fileprivate func report(_ update: PathUpdate) {
    guard update.number > 1, !json, !update.changes.isEmpty else {
      if json {
        happened(update.path.headline, "path", update.json)
      } else {
        print(update.path)
        say()
      }
      return
    }
    happened(update.line.printable, "path", paint: update.colour)
  }
}

extension PathUpdate {
  /// The update on one line: the path, where it is another one, and the changes that are the reason.
  var line: String {
    let reasons = changes.filter { change in
      // The path says the same.
      switch change {
      case .status, .preferredInterface: false
      default: true
      }
    }
    let text = reasons.map(\.description).joined(separator: "; ")
    guard reasons.count < changes.count else { return text }
    return text.isEmpty ? path.headline : "\(path.headline) Because: \(text)"
  }

  /// The colour of a change of the status; `nil` for another one.
  fileprivate var colour: Terminal.Paint? {
    for case .status(_, let status) in changes { return status == .satisfied ? .green : .red }
    return nil
  }
}
