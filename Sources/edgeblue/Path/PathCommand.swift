import ArgumentParser
import NetworkPath

/// `edgeblue path`
struct PathCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "path",
    abstract: "Show whether this machine has a way out to others, and through what.",
    discussion: """
      Asks the kernel; needs no root and no NetworkManager. With --watch it goes on and says what changes, and why, as \
      it happens. Without, it ends with status 69 when there is no way out.

      EXAMPLES
        edgeblue path
        edgeblue path --watch
        edgeblue path --watch --settle-up 2000
        edgeblue path --probe http://connectivity-check.ubuntu.com
        edgeblue path --json | jq .status
      """)

  @Flag(help: "Go on, and tell of every change until Ctrl-C.") var watch = false
  @Option(help: ArgumentHelp("How long a loss must last before it is told of, 0 to 60000.", valueName: "ms"))
  var settleDown = 150
  @Option(help: ArgumentHelp("How long a way out must last before it is told of, 0 to 60000.", valueName: "ms"))
  var settleUp = 500
  @Option(
    help: ArgumentHelp(
      "Also ask this http URL, which should answer with a status 200 to 299 itself; a portal redirects.",
      valueName: "url"),
    transform: { text in
      guard let probe = HTTPProbe(text) else { throw ValidationError("'\(text)' is no URL of http or https.") }
      return probe
    })
  var probe: HTTPProbe?
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (0...60_000).contains(settleDown), (0...60_000).contains(settleUp) else {
      throw ValidationError("A settle time is 0 to 60000 ms.")
    }
  }

  func run() async throws {
    try await common.run { terminal in
      var options = NetworkPathMonitor.Options.withNetworkManager
      options.settleDown = .milliseconds(settleDown)
      options.settleUp = .milliseconds(settleUp)
      options.probe = probe
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
        for await update in monitor.updates() { terminal.tell(update) }
        try Task.checkCancellation()
        throw monitor.problem ?? NetworkPathError(.unavailable, "the kernel tells nothing more")
      }
    } catch is CancellationError {
      // That is how watching ends.
    }
  }
}

extension Terminal {
  fileprivate func print(_ path: PathSnapshot) {
    if json { print(json: .object(path.json)) }
    for line in path.lines { say(line) }
  }

  fileprivate func tell(_ update: PathUpdate) {
    guard update.number > 1, !json, !update.changes.isEmpty else {
      if json {
        happened(update.path.headline, "path", update.json)
      } else {
        print(update.path)
        say()
      }
      return
    }
    for change in update.changes {
      if case .status(_, let status) = change {
        happened(paint(update.path.headline, status == .satisfied ? .green : .red), "path")
      } else {
        happened(change.description.printable, "path")
      }
    }
  }
}
