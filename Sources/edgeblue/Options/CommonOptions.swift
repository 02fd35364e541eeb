import ArgumentParser
import Logging

/// What every command takes.
struct CommonOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "What to log, to standard error: trace, debug, info, notice, warning (the default), error or critical.",
      valueName: "level"),
    transform: { text in
      guard let level = Logger.Level(rawValue: text) else { throw ValidationError("There is no log level '\(text)'.") }
      return level
    })
  var logLevel = Logger.Level.warning

  @Flag(help: "Print JSON for programs instead of text for people.")
  var json = false

  /// Runs a command's work, with logging set up; an error becomes a message and an exit status.
  func run(_ work: (Terminal) async throws -> Void) async throws {
    Output.ignoreBrokenPipes()
    let level = logLevel
    LoggingSystem.bootstrap { TerminalLogHandler(label: $0, level: level) }
    let terminal = Terminal(json: json)
    do {
      try await work(terminal)
    } catch let code as ExitCode {
      throw code
    } catch {
      let failure = Failure(error)
      terminal.fail(failure)
      throw failure.status.code
    }
  }
}
