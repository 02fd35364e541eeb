import ArgumentParser
import Glibc
import Logging
import MessageSending

/// The options that all commands have.
struct CommonOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The least severe level to log to standard error: trace, debug, info, notice, warning (the default), error or critical.",
      valueName: "level"),
    completion: .words(Logger.Level.self), transform: reading("a log level") { Logger.Level(rawValue: $0) })
  var logLevel = Logger.Level.warning

  @Flag(help: "Print JSON for programs instead of text.")
  var json = false

  /// Runs a command as ``run(_:)`` does, in a process that leaves no core and that no other one of its user can read.
  func runWithSecrets(_ work: (Terminal) async throws -> Void) async throws {
    try await run { terminal in
      try ProcessSecrets.forbidCoreDumps()
      try await work(terminal)
    }
  }

  /// Sets up logging and runs a command; an error becomes a message and an exit status.
  func run(_ work: (Terminal) async throws -> Void) async throws {
    Output.ignoreBrokenPipes()
    // State and recordings are for their user alone.
    umask(0o077)
    let level = logLevel
    LoggingSystem.bootstrap { TerminalLogHandler(label: $0, level: level) }
    let terminal = Terminal(json: json)
    do {
      try await work(terminal)
      if let failure = Output.failure { throw failure }
    } catch let code as ExitCode {
      guard let failure = Output.failure else { throw code }
      terminal.fail(failure)
      throw failure.status.code
    } catch {
      let failure = Failure(error)
      terminal.fail(failure)
      throw failure.status.code
    }
  }
}
