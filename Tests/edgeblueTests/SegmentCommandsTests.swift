import AudioIngest
import AudioIngestTesting
import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing
import Timing

@testable import edgeblue

/// `edgeblue record --exec`: a program for each finished segment.
@Suite(.timeLimit(.minutes(2))) struct SegmentCommandsTests {
  private let temporary: TemporaryFolder
  private let segment: FinishedSegment

  init() throws {
    temporary = try TemporaryFolder()
    var recording = try Recording(SegmentFolder(path: temporary.path + "/recordings", limits: .init(reserve: 0)))
    recording.play(frames: 200)
    recording.recorder.end(.shutdown, at: recording.moment)
    segment = try #require(try SegmentCatalog(path: temporary.path + "/recordings").entries.first?.segment)
  }

  /// Writes a script, and returns its path.
  private func script(_ text: String) throws -> String {
    let path = temporary.path + "/script"
    try Data("#!/bin/sh\n\(text)\n".utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
    return path
  }

  private func command(_ text: String, limit: Duration = .seconds(60)) throws -> SegmentCommand {
    try #require(try SegmentCommand(script(text) + " --language en", limit: limit))
  }

  @Test("A command gets the paths of the segment, and no secret of the recorder's environment")
  func theEnvironmentIsClean() async throws {
    let command = try command("env >\"$0.env\"; echo \"$@\" >\"$0.arguments\"; cat")
    let all = [
      "PATH": "/usr/bin:/bin", "LC_ALL": "C", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "secret",
      "EDGEBLUE_TOKEN": "secret", "CREDENTIALS_DIRECTORY": "/run/credentials",
    ]
    let result = try await command.program(for: segment, in: all).run()
    #expect(result == .init(problem: nil, lastLine: ""))
    let path = SegmentRequests.absolute(segment.path)
    func written(_ end: String) throws -> String {
      try String(contentsOfFile: temporary.path + "/script." + end, encoding: .utf8)
    }
    #expect(try written("arguments") == "--language en \(path)\n")
    let lines = Set(try written("env").split(separator: "\n").filter { !$0.hasPrefix("PWD=") && !$0.hasPrefix("_=") })
    let stem = path.dropLast(4)
    #expect(
      lines == [
        "PATH=/usr/bin:/bin", "LC_ALL=C", "EDGEBLUE_SEGMENT=1", "EDGEBLUE_SIDECAR=\(stem).json",
        "EDGEBLUE_TRANSCRIPT=\(stem).txt",
      ])
  }

  @Test("A command that prints without end is ended in time, with what it has started")
  func aCommandIsBounded() async throws {
    let command = try command("sleep 600 & echo $! >\"$0.pid\"; yes", limit: .milliseconds(300))
    let result = try await command.program(for: segment).run()
    #expect(result.problem?.hasPrefix("not finished within") == true)
    #expect(result.lastLine.count <= 200)
    let pid = try #require(
      Int32(try String(contentsOfFile: temporary.path + "/script.pid", encoding: .utf8).dropLast()))
    try await eventually("its child is gone") { !isRunning(pid) }
  }

  /// Whether a process runs that is not merely waited for.
  private func isRunning(_ pid: Int32) -> Bool {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    return !status.isEmpty && !status.contains("State:\tZ")
  }

  @Test("A cancelled recorder ends its command") func cancellingEndsTheCommand() async throws {
    let command = try command("echo $$ >\"$0.pid\"; exec sleep 600")
    let program = command.program(for: segment)
    let running = Task { try await program.run() }
    let file = temporary.path + "/script.pid"
    try await eventually("it runs") { (try? String(contentsOfFile: file, encoding: .utf8))?.hasSuffix("\n") == true }
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
    let pid = try #require(Int32(try String(contentsOfFile: file, encoding: .utf8).dropLast()))
    #expect(!isRunning(pid))
  }

  @Test("A failure is recorded beside the segment, and a success ends it") func failuresAreShown() async throws {
    let news = Lock<[SegmentCommands.News]>([])
    // Fails once.
    let command = try command("if [ -e \"$0.again\" ]; then exit 0; fi; touch \"$0.again\"; echo no model >&2; exit 3")
    func runOnce() async throws {
      let commands = SegmentCommands(command) { one in news.withLock { $0.append(one) } }
      await commands.add(segment)
      await commands.add(segment)
      let count = news.withLock { $0.count }
      let running = Task { await commands.run() }
      try await eventually("the command has ended") { news.withLock { $0.count } == count + 1 }
      running.cancel()
      await running.value
    }
    try await runOnce()
    guard case .failed(_, let problem, let retry) = news.withLock({ $0[0] }) else {
      return #expect(Bool(false), "it has not failed")
    }
    #expect(problem == "exited with status 3: no model")
    #expect(retry == .seconds(10))
    let failed = try #require(SegmentCommandResult.read(segment))
    #expect(failed.words.hasPrefix("failed once, 20"))
    #expect(failed.words.hasSuffix(": exited with status 3: no model"))
    // The next recorder.
    try await runOnce()
    #expect(SegmentCommandResult.read(segment)?.problem == nil)
    #expect(SegmentCommandResult.read(segment)?.attempts == 2)
    // The one after that has nothing to do.
    let clock = ManualClock()
    let commands = SegmentCommands(command, clock: TimeSource(clock)) { one in news.withLock { $0.append(one) } }
    await commands.add(segment)
    let running = Task { await commands.run() }
    // It sleeps once it has found nothing to run.
    await clock.waitForSleeper(until: .milliseconds(200))
    running.cancel()
    await running.value
    #expect(news.withLock { $0.count } == 2)
  }

  @Test("A program that does not exist is a failure with its name") func aMissingProgramIsNamed() async throws {
    let command = try #require(SegmentCommand("/nowhere/transcribe -x", limit: .seconds(1)))
    let failure = await #expect(throws: Failure.self) { try await command.program(for: segment).run() }
    #expect(failure?.message == "/nowhere/transcribe cannot be started: No such file or directory")
    #expect(SegmentCommand("  ", limit: .seconds(1)) == nil)
  }
}
