import ArgumentParser
import SystemState

/// `edgeblue power`
struct PowerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "power",
    abstract: "Show what this machine runs on, how full its battery is, and whether to save power.",
    discussion: """
      Asks UPower and power-profiles-daemon where they run, and the kernel elsewhere; starts neither, and needs no root. \
      With --watch it goes on and says what changes, as it happens.

      EXAMPLES
        edgeblue power
        edgeblue power --watch
        edgeblue power --json | jq .powerTelemetry
      """)

  @Flag(help: "Go on, and tell of every change until Ctrl-C.") var watch = false
  @Flag(help: "Say that power is to be saved, where no power-profiles-daemon knows.") var lowPower = false
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      var options = PowerMonitor.Options()
      options.lowPowerMode = lowPower
      let monitor = try await PowerMonitor.start(options)
      guard watch else { return terminal.print(monitor.snapshot) }
      do {
        try await untilInterrupted {
          for await update in monitor.updates() { terminal.tell(update) }
        }
      } catch is CancellationError {
        // That is how watching ends.
      }
    }
  }
}

extension Terminal {
  fileprivate func print(_ snapshot: PowerSnapshot) {
    if json { print(json: .object(snapshot.json)) }
    for line in snapshot.lines { say(line) }
  }

  fileprivate func tell(_ update: PowerUpdate) {
    if json { return happened(update.snapshot.headline, "power", update.json) }
    guard update.number > 1, !update.changes.isEmpty else {
      print(update.snapshot)
      return say()
    }
    for change in update.changes { happened(change.description.printable, "power") }
  }
}
