import ArgumentParser
import SystemState

/// `edgeblue power`
struct PowerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "power",
    abstract: "Print the power source, the battery level and the power saver state.",
    discussion: """
      Reads from UPower and power-profiles-daemon if they run, otherwise from the kernel; starts neither, and requires no \
      root. With --watch it prints every change.

      EXAMPLES
        edgeblue power
        edgeblue power --watch
        edgeblue power --json | jq .powerTelemetry
      """)

  @Flag(help: "Continue, and print every change, until Ctrl-C.") var watch = false
  @Flag(help: "Assume that the power saver is on, if power-profiles-daemon does not run.") var lowPower = false
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      var options = PowerMonitor.Options()
      options.lowPowerMode = lowPower
      let monitor = try await PowerMonitor.start(options)
      guard watch else { return terminal.print(monitor.snapshot) }
      do {
        try await untilInterrupted {
          for await update in monitor.updates() { terminal.report(update) }
        }
      } catch is CancellationError {
        // Ctrl-C ends --watch.
      }
    }
  }
}

extension Terminal {
  fileprivate func report(_ update: PowerUpdate) {
    if json { return happened(update.snapshot.headline, "power", update.json) }
    guard update.number > 1, !update.changes.isEmpty else {
      print(update.snapshot)
      return say()
    }
    for change in update.changes { happened(change.description.printable, "power") }
  }
}
