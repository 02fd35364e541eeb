import AudioIngest
import AudioIngestTesting
import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing
import Timing
import Uploads

@testable import edgeblue

/// `edgeblue record --exec`: a program for each finished segment.
@Suite(.timeLimit(.minutes(5))) struct SegmentCommandsTests {
  private let temporary: TemporaryFolder
  private let segment: FinishedSegment

  init() throws {
    temporary = try TemporaryFolder()
    var recording = try Recording(SegmentFolder(path: temporary.path + "/recordings", limits: .init(reserve: 0)))
    recording.play(frames: 200)
    recording.recorder.end(.shutdown, at: recording.moment)
    segment = try #require(try SegmentCatalog(path: temporary.path + "/recordings").entries.first?.segment)
  }

  private func command(_ text: String, limit: Duration = .seconds(60)) throws -> SegmentCommand {
    let script = try ShellScript(text, at: temporary.path + "/script")
    return try #require(SegmentCommand(script.command + " --language en", limit: limit))
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
        "EDGEBLUE_TRANSCRIPT=\(TranscriptDraft(of: segment).path)",
      ])
  }

  @Test("A command gets no open file of the recorder, as its connections are") func noFileIsInherited() async throws {
    let path = temporary.path + "/secret"
    let number = open(path, O_RDWR | O_CREAT, 0o600)
    try #require(number >= 0)
    defer { close(number) }
    let result = try await command("ls -l /proc/$$/fd >\"$0.open\"").program(for: segment).run()
    #expect(result == .init(problem: nil, lastLine: ""))
    let files = try String(contentsOfFile: temporary.path + "/script.open", encoding: .utf8)
    #expect(files.contains("/dev/null"))
    #expect(!files.contains(path), "\(files)")
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
    let program = try command.program(for: segment)
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

  /// Runs a command for the segment, once.
  private func run(_ command: SegmentCommand) async throws {
    let hasEnded = Lock(false)
    let commands = SegmentCommands(command) { _ in hasEnded.withLock { $0 = true } }
    await commands.add(segment)
    let running = Task { await commands.run() }
    try await eventually("the command has ended") { hasEnded.withLock { $0 } }
    running.cancel()
    await running.value
  }

  /// The files beside the segment that are neither its audio nor its sidecar.
  private func others() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: temporary.path + "/recordings").filter {
      ![segment.info.name + ".wav", segment.info.name + ".json", "open"].contains($0)
    }.sorted()
  }

  @Test("A transcript is queued when its command has succeeded, and never while it is half written")
  func halfATranscriptIsNotQueued() async throws {
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    let folder = temporary.path + "/recordings"
    try store.remember(
      UploadSource(folder: folder, endpoint: "http://host", bucket: "bucket", prefix: "", account: "ada"))
    func queued() async throws -> [String] {
      #expect(await SegmentSources(store).queueFinished() == [])
      return try store.items(in: [.waiting]).map(\.request.content.path).filter { $0.hasSuffix(".txt") }
    }
    let command = try command(
      """
      echo first >"$EDGEBLUE_TRANSCRIPT"; touch "$0.half"
      until [ -e "$0.go" ]; do sleep 0.05; done
      echo last >>"$EDGEBLUE_TRANSCRIPT"
      """)
    async let ran: Void = run(command)
    try await eventually("half of it is written") {
      FileManager.default.fileExists(atPath: temporary.path + "/script.half")
    }
    #expect(try await queued() == [])
    #expect(try others().allSatisfy { $0.hasPrefix(".") })
    try Data().write(to: URL(filePath: temporary.path + "/script.go"))
    try await ran
    #expect(try await queued() == [SegmentRequests.absolute(segment.transcriptPath)])
    #expect(try String(contentsOfFile: segment.transcriptPath, encoding: .utf8) == "first\nlast\n")
    #expect(try others() == [".command.json", ".txt"].map { segment.info.name + $0 })
  }

  @Test(
    "A command that fails leaves no transcript",
    arguments: ["exit 3", "kill -9 $$", "rm \"$EDGEBLUE_TRANSCRIPT\"; mkdir \"$EDGEBLUE_TRANSCRIPT\""])
  func afterAFailureThereIsNone(_ end: String) async throws {
    try await run(try command("echo half >\"$EDGEBLUE_TRANSCRIPT\"; \(end)"))
    #expect(SegmentCommandResult.read(segment)?.problem != nil)
    #expect(try others() == [segment.info.name + ".command.json"])
  }

  @Test("A transcript that exists is not replaced, and none appears for a segment that is gone")
  func aTranscriptIsNotReplaced() async throws {
    try Data("first".utf8).write(to: URL(filePath: segment.transcriptPath))
    try await run(try command("echo again >\"$EDGEBLUE_TRANSCRIPT\""))
    #expect(SegmentCommandResult.read(segment)?.problem == nil)
    #expect(try String(contentsOfFile: segment.transcriptPath, encoding: .utf8) == "first")
    try FileManager.default.removeItem(atPath: segment.transcriptPath)
    try FileManager.default.removeItem(atPath: String(segment.path.dropLast(4)) + ".command.json")
    try await run(try command("echo late >\"$EDGEBLUE_TRANSCRIPT\"; rm \"${EDGEBLUE_SIDECAR%json}wav\""))
    #expect(try others() == [segment.info.name + ".command.json"])
  }

  @Test("At the end what has failed is left to the next recorder, and the rest is run once")
  func theEndIsOneRun() async throws {
    let news = Lock<[SegmentCommands.News]>([])
    let commands = SegmentCommands(try command("exit 3"), clock: TimeSource(ManualClock())) { one in
      news.withLock { $0.append(one) }
    }
    await commands.add(segment)
    await commands.end()
    #expect(await commands.left == 1)
    // The clock stands still: a retry would never come.
    await commands.run()
    guard case .failed(_, _, retry: nil) = news.withLock({ $0.first }) else {
      return #expect(Bool(false), "it has not failed for good")
    }
    #expect(await commands.left == 0)
  }

  @Test("At the end a command is ended after the limit, and its segment is left")
  func theEndIsBounded() async throws {
    let clock = ManualClock()
    let commands = SegmentCommands(
      try command("echo $$ >\"$0.pid\"; exec sleep 600", limit: .seconds(600)), clock: TimeSource(clock)
    ) { _ in
    }
    await commands.add(segment)
    let running = Task { await commands.run() }
    let file = temporary.path + "/script.pid"
    try await eventually("it runs") { (try? String(contentsOfFile: file, encoding: .utf8))?.hasSuffix("\n") == true }
    await commands.end()
    let finishing = Task { try await commands.finish(running) }
    await clock.advance(toSleeperAt: .seconds(600))
    await #expect(throws: CancellationError.self) { try await finishing.value }
    #expect(await commands.left == 1)
    #expect(SegmentCommandResult.read(segment) == nil)
    let pid = try #require(Int32(try String(contentsOfFile: file, encoding: .utf8).dropLast()))
    #expect(!isRunning(pid))
  }

  @Test("A program that does not exist is a failure with its name") func aMissingProgramIsNamed() async throws {
    let command = try #require(SegmentCommand("/nowhere/transcribe -x", limit: .seconds(1)))
    let failure = await #expect(throws: Failure.self) { try await command.program(for: segment).run() }
    #expect(failure?.message == "/nowhere/transcribe cannot be started: No such file or directory")
    #expect(SegmentCommand("  ", limit: .seconds(1)) == nil)
  }
}
