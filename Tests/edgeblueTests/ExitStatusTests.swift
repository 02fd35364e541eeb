import ArgumentParser
import Foundation
import Glibc
import SystemTesting
import Testing

@testable import edgeblue

@Suite("The exit statuses, and what the command says of mistakes") struct ExitStatusTests {
  @Test("The table of the documentation is that of --help") func oneTable() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/commands.md")
    let rows = try String(contentsOf: page, encoding: .utf8).matches(of: /(?m)^\| (\d+) \| (.+) \|$/)
    #expect(rows.map { Int32($0.1) } == edgeblue.ExitStatus.allCases.map(\.rawValue))
    #expect(
      rows.map { String($0.2) } == edgeblue.ExitStatus.allCases.map { $0.meaning.replacing("\n", with: " ") })
    let help = EdgeBlueCommand.helpMessage(columns: 120)
    for status in edgeblue.ExitStatus.allCases {
      #expect(help.contains(" \(status.rawValue) "), "\(status)")
    }
  }

  @Test(
    "A misspelt command names the nearest one",
    arguments: [
      (["stauts"], "Did you mean 'status'?"), (["Status"], "Did you mean 'status'?"),
      (["uploads", "lst"], "Did you mean 'list'?"), (["speedtest", "sreve"], "Did you mean 'serve'?"),
      (["frobnicate"], "'frobnicate' is no command of 'edgeblue'."),
      (["stau\u{1b}ts"], "'stau\u{fffd}ts' is no command"),
    ])
  func misspeltCommands(words: [String], message: String) throws {
    let text = try #require(EdgeBlueCommand.suggestion(for: words))
    #expect(text.contains(message))
    #expect(text.contains("--help"))
    #expect(throws: (any Error).self) { try EdgeBlueCommand.parseAsRoot(words) }
  }

  @Test(
    "Another mistake is left to its own message",
    arguments: [["mode", "turbo"], ["status", "--wach"], ["--wach"], ["help", "stauts"], [], ["uploads", "17.wav"]])
  func otherMistakes(words: [String]) { #expect(EdgeBlueCommand.suggestion(for: words) == nil) }

  @Test("A mode may be in capitals") func modesInCapitals() throws {
    for (word, mode) in [("ON", "on"), ("Off", "off"), ("LOCAL", "bluetooth-local")] {
      let command = try #require(try EdgeBlueCommand.parseAsRoot(["mode", word]) as? ModeCommand)
      #expect(command.mode?.rawValue == mode)
    }
  }

  @Test("A signal that the parent has ignored stays ignored") func ignoredSignals() {
    defer { signal(SIGUSR2, SIG_DFL) }
    signal(SIGUSR2, SIG_IGN)
    #expect(StopSignals.isIgnored(SIGUSR2))
    signal(SIGUSR2, SIG_DFL)
    #expect(!StopSignals.isIgnored(SIGUSR2))
  }
}

@Suite(
  "The exit statuses of the built program",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct ExitStatusProgramTests {
  private func run(_ script: String, _ words: [String]) async throws -> (status: Int32, output: String, errors: String)
  {
    let process = try ChildProcess("sh", ["-c", script, program] + words, errors: .kept)
    let outcome = await process.outcome()
    return (outcome.status, outcome.output, outcome.errors)
  }

  @Test(
    "Output that cannot be written is an error, and a reader that ends early is none",
    arguments: [["--help"], ["version"], ["speedtest", "history", "--help"], ["path"], ["path", "--json"]])
  func fullDisks(words: [String]) async throws {
    let full = try await run(#"exec "$0" "$@" >/dev/full"#, words)
    #expect(full.status == edgeblue.ExitStatus.outputFailed.rawValue)
    #expect(full.errors.contains("the output cannot be written: No space left on device"))
    let closed = try await run(#""$0" "$@" 2>/dev/null | true"#, words)
    #expect(closed.status == 0)
  }

  @Test("The version has three names") func versions() async throws {
    for word in ["--version", "version", "-V"] {
      let outcome = try await run(#"exec "$0" "$@""#, [word])
      #expect(outcome.output == EdgeBlueVersion.current + "\n")
      #expect(outcome.status == 0)
    }
  }

  @Test("A misspelt command ends with status 64") func misspelt() async throws {
    let outcome = try await run(#"exec "$0" "$@""#, ["stauts"])
    #expect(outcome.status == 64)
    #expect(outcome.errors.contains("Did you mean 'status'?"))
    #expect(outcome.output.isEmpty)
  }

  @Test("SIGHUP ends a command as SIGTERM does", arguments: [SIGHUP, SIGTERM]) func hangups(signal: Int32) async throws
  {
    let process = try ChildProcess(program, ["path", "--watch", "--json"], errors: .discarded)
    _ = try await process.firstLine()
    process.signal(signal)
    #expect(await process.wait() == 0)
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
