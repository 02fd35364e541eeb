import Agent
import ArgumentParser

/// `edgeblue status`
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Print the state of the agent, and the reasons for it.",
    discussion: """
      Requires a running `edgeblue agent`. All users may read its state; reasons, addresses and identifiers only root and \
      members of the group edgeblue. With --watch it shows the state and each change of it, with the time: in place on a \
      terminal, and also while the agent is started again.

      EXAMPLES
        edgeblue status
        edgeblue status --watch
        edgeblue status --json | jq .runState
      """)

  @Flag(help: "Continue, and show every change, until Ctrl-C.") var watch = false
  @OptionGroup var bus: BusOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      guard watch else { return terminal.print(try await bus.client().status()) }
      do {
        try await untilInterrupted { try await follow(StatusView(terminal)) }
      } catch is CancellationError {
        // Ctrl-C ends --watch.
      }
    }
  }

  /// The delay before an agent that is gone is looked for again.
  private static let delay: Duration = .seconds(1)

  /// Shows every change until the task is cancelled, also over restarts of the agent and of the bus.
  private func follow(_ view: StatusView) async throws {
    while true {
      do {
        try await bus.client().follow { await view.show($0) }
      } catch let error as CancellationError {
        throw error
      } catch {
        try Task.checkCancellation()
        await view.show(Failure(error))
      }
      try await Task.sleep(for: Self.delay, clock: .steady)
    }
  }
}

/// The status of the agent as it changes: in place on a terminal, one after another in a file or a pipe.
private actor StatusView {
  private let terminal: Terminal
  private var screen = LiveScreen()
  private var last: AgentStatus?
  private var gone: String?

  init(_ terminal: Terminal) { self.terminal = terminal }

  func show(_ status: AgentStatus) {
    last = status
    gone = nil
    guard terminal.isLive else {
      terminal.say(Terminal.clock())
      terminal.print(status)
      return terminal.say()
    }
    draw()
  }

  /// Shows why there is no status, once for each reason, above the last one.
  func show(_ failure: Failure) {
    let text = failure.message + (failure.hint.map { " (\($0))" } ?? "")
    if gone == text { return }
    gone = text
    guard terminal.isLive else { return terminal.happened(text, "problem", ["error": .string(failure.message)]) }
    draw()
  }

  private func draw() {
    let time = Terminal.clock()
    var lines = terminal.lines(gone.map { "\(time)  \($0); the last status:" } ?? "\(time)", behind: "")
    lines += last.map { [""] + terminal.lines(of: $0) } ?? []
    Output.write(screen.frame(lines))
  }
}

extension Terminal {
  func print(_ status: AgentStatus) {
    if json { print(json: .object(status.json)) }
    for line in lines(of: status) { say(line) }
  }

  /// Returns the lines of a status, wrapped for the terminal.
  fileprivate func lines(of status: AgentStatus) -> [String] {
    status.facts.flatMap { lines($0.1.printable, behind: $0.0.padded(to: 14)) }
  }
}
