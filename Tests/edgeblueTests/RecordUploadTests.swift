import AudioIngest
import AudioIngestTesting
import Foundation
import SystemTesting
import Testing
import Timing
import Uploads

@testable import edgeblue

/// `edgeblue record --upload`, ended in every way: what was heard is in the queue, or is put there by who comes next.
@Suite(
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct RecordUploadTests {
  private let temporary: TemporaryFolder
  private let out: String
  private let state: String
  /// The codec that the wearable reports.
  private var codec: UInt8 = 0
  private static let server = "http://127.0.0.1:1"

  init() throws {
    temporary = try TemporaryFolder()
    out = temporary.path + "/recordings"
    state = temporary.path + "/state"
  }

  @Test("The only segment of a short recording is queued for upload", arguments: [SIGTERM, SIGINT])
  func theLastSegmentIsQueued(_ signal: Int32) async throws {
    #expect(try await record(endedBy: signal) == 0)
    try expectQueued()
  }

  @Test("What a killed recorder has left is queued by the program that uploads next")
  func whatAKilledRecorderLeavesIsQueued() async throws {
    #expect(try await record(endedBy: SIGKILL) != 0)
    #expect(try QueueStore(in: state).totals().items == [:])
    let uploading = try ChildProcess(
      program, ["uploads", "run", "--state", state, "--endpoint", Self.server], environment: ["HOME": temporary.path],
      output: .discarded, errors: .discarded)
    defer { uploading.signal(SIGKILL) }
    let store = try QueueStore(in: state)
    try await eventually("the segment is queued") { try store.totals().items.values.reduce(0, +) == 2 }
    uploading.signal(SIGTERM)
    _ = await uploading.outcome()
    try expectQueued()
  }

  @Test("A recording that is not uploaded stays out of the queue of an earlier one")
  func aLaterRecordingStaysHere() async throws {
    _ = try await record(endedBy: SIGKILL)
    // Queues what the first has left, and records for itself.
    _ = try await record(endedBy: SIGTERM, uploads: false)
    let store = try QueueStore(in: state)
    let segments = try SegmentCatalog(path: out).entries.map(\.segment.info.id)
    #expect(segments == [1, 2])
    #expect(await SegmentSources(store).queueFinished() == [])
    #expect(try store.totals().items.values.reduce(0, +) == 2)
  }

  @Test("A later recorder keeps the format, also for what a killed one has left") func theFormatStays() async throws {
    _ = try await record(endedBy: SIGKILL, more: ["--format", "flac"])
    #expect(try await record(endedBy: SIGTERM) == 0)
    let items = try QueueStore(in: state).items(in: [.waiting, .uploading])
    #expect(items.map { $0.request.key.split(separator: ".").last } == ["json", "flac", "json", "flac"])
  }

  @Test(
    "With --rate 16000 uploads and commands get 16 kHz of a codec of 8 kHz, also of what a killed recorder has left")
  func theRateIsPromised() async throws {
    let script = try script("echo \"$@\" >\"$EDGEBLUE_TRANSCRIPT\"")
    var old = self
    old.codec = 1
    _ = try await old.record(endedBy: SIGKILL, more: ["--rate", "16000"])
    // The rate belongs to the folder.
    #expect(try await old.record(endedBy: SIGTERM, more: ["--exec", script.command]) == 0)
    let segments = try SegmentCatalog(path: out).entries.map(\.segment)
    #expect(segments.map(\.info.sampleRate) == [8000, 8000])
    let items = try QueueStore(in: state).items(in: [.waiting, .uploading])
    let audio = items.filter { $0.request.key.hasSuffix(".wav") }
    #expect(audio.count == 2)
    for (segment, item) in zip(segments, audio) {
      let content = item.request.content
      #expect(content.metadata["sample-rate"] == "16000")
      #expect(content.metadata["wav-sha256"] == segment.info.measured.sha256)
      let header = try #require(WAVHeader(Array(try Data(contentsOf: URL(filePath: content.path)).prefix(44))))
      #expect(header.sampleRate == 16_000)
      #expect(header.samples == segment.info.samples * 2)
      #expect(try String(contentsOfFile: segment.transcriptPath, encoding: .utf8) == content.path + "\n")
    }
  }

  @Test("A WAV file without a sound sidecar is named by the recorder and by `uploads run`, whose status says so")
  func damagedSidecarsAreNamed() async throws {
    _ = try await record(endedBy: SIGTERM)
    let path = try #require(try SegmentCatalog(path: out).entries.first?.segment.path)
    try Data("{".utf8).write(to: URL(filePath: path.dropLast(4) + ".json"))
    let log = temporary.path + "/log"
    _ = try await record(endedBy: SIGTERM, log: log)
    #expect(try String(contentsOfFile: log, encoding: .utf8).contains("not queued: \(path) has no sidecar"))
    // Nothing else is left to do.
    for entry in try SegmentCatalog(path: out).entries {
      try SegmentFolder(path: out).markDelivered(entry.segment.info.id)
    }
    let store = try QueueStore(in: state)
    for item in try store.items(in: [.waiting, .uploading]) { try store.drop(item.id) }
    let uploads = try await ChildProcess(
      program, ["uploads", "run", "--once", "--state", state, "--endpoint", Self.server, "--wait", "60"],
      environment: ["HOME": temporary.path], errors: .kept
    ).outcome()
    #expect(uploads.output.contains("not queued: "))
    #expect(uploads.status == ExitStatus.failed.rawValue, "\(uploads.errors)")
  }

  @Test("A command is run for what a killed recorder has left, and its transcript is queued")
  func theCommandIsRun() async throws {
    _ = try await record(endedBy: SIGKILL)
    let script = try script("echo \"$@\" >\"$EDGEBLUE_TRANSCRIPT\"")
    let status = try await record(endedBy: SIGTERM, more: ["--exec", script.command + " --language en"]) {
      try QueueStore(in: state).items(in: [.waiting, .uploading]).contains { $0.request.key.hasSuffix(".txt") }
    }
    #expect(status == 0)
    let entry = try #require(try SegmentCatalog(path: out).entries.first)
    #expect(
      try String(contentsOfFile: entry.segment.transcriptPath, encoding: .utf8)
        == "--language en \(entry.segment.path)\n")
    #expect(entry.lines().contains { $0.hasPrefix("Command    succeeded, ") })
  }

  @Test(
    "The command is run for the last segment of a session, and its transcript is queued", arguments: [SIGTERM, SIGINT])
  func theLastCommandIsRun(_ signal: Int32) async throws {
    let script = try script("echo \"$@\" >\"$EDGEBLUE_TRANSCRIPT\"")
    #expect(try await record(endedBy: signal, more: ["--exec", script.command]) == 0)
    let segment = try #require(try SegmentCatalog(path: out).entries.first?.segment)
    #expect(SegmentCommandResult.read(segment)?.attempts == 1)
    #expect(try String(contentsOfFile: segment.transcriptPath, encoding: .utf8) == "\(segment.path)\n")
    let items = try QueueStore(in: state).items(in: [.waiting, .uploading])
    #expect(items.map { $0.request.key.split(separator: ".").last } == ["json", "wav", "txt"])
  }

  @Test("A second signal ends the command of the last segment, which the next recorder runs")
  func aSecondSignalEndsTheCommand() async throws {
    let script = try script("if [ -e \"$0.pid\" ]; then exit 0; fi; echo $$ >\"$0.pid\"; exec sleep 600")
    let log = temporary.path + "/log"
    let status = try await record(
      endedBy: SIGTERM, more: ["--exec", script.command], log: log,
      then: { recorder in
        try await eventually("the command runs") { FileManager.default.fileExists(atPath: script.path + ".pid") }
        recorder.signal(SIGINT)
      })
    #expect(status == 0)
    #expect(
      try String(contentsOfFile: log, encoding: .utf8).contains("the command was not run for 1 segment; the next"))
    let segment = try #require(try SegmentCatalog(path: out).entries.first?.segment)
    #expect(SegmentCommandResult.read(segment) == nil)
    #expect(try await record(endedBy: SIGTERM, more: ["--exec", script.command]) == 0)
    #expect(SegmentCommandResult.read(segment)?.problem == nil)
  }

  private func script(_ text: String) throws -> ShellScript {
    try ShellScript(text, at: temporary.path + "/transcribe")
  }

  private func expectQueued() throws {
    let segment = try #require(try SegmentCatalog(path: out).entries.first?.segment)
    #expect(segment.info.samples > 0)
    let store = try QueueStore(in: state)
    let items = try store.items(in: [.waiting, .uploading])
    #expect(items.map { $0.request.content.path.split(separator: ".").last } == ["json", "wav"])
    #expect(items.map(\.request.endpoint) == [Self.server, Self.server])
    #expect(items.last?.request.content.sha256 == segment.info.measured.sha256)
  }

  /// Records 50 frames, and ends the recorder when it has done what it should.
  private func record(
    endedBy signal: Int32, uploads: Bool = true, more: [String] = [], log: String? = nil,
    after isDone: () throws -> Bool = { true }, then finish: (ChildProcess) async throws -> Void = { _ in }
  ) async throws -> Int32 {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0], codec: codec)
    guard case .address(let bus) = lab.fake.bus else { throw TestTimeout("a bus of its own") }
    var words = [
      "record", "--out", out, "--state", state, "--adapter", lab.fake.adapters[1].name, "--reserve", "0",
      "--wearable", lab.adapters[0].address.description,
    ]
    if uploads { words += ["--upload", "bucket", "--account", "ada", "--endpoint", Self.server] }
    // A file takes any amount of output.
    let shell = ["-c", #"exec "$0" "$@" >"$LOG""#, program] + words + more
    let recorder = try ChildProcess(
      "sh", shell,
      environment: [
        "DBUS_SYSTEM_BUS_ADDRESS": bus, "HOME": temporary.path, "LOG": log ?? "/dev/null", "PATH": "/usr/bin:/bin",
      ], errors: .discarded)
    defer { recorder.signal(SIGKILL) }
    try await wearable.waitForSubscriber()
    try await wearable.send((0..<50).map { Array(Recording.bytes(Recording.ramp($0 * 160..<($0 + 1) * 160))) })
    try await eventually("the frames are in the file") { try openBytes() >= 44 + 50 * 320 }
    try await eventually("the recorder has done its work") { try isDone() }
    recorder.signal(signal)
    try await finish(recorder)
    let status = await recorder.outcome().status
    try await lab.stop()
    return status
  }

  private func openBytes() throws -> Int {
    let open = out + "/open"
    let parts = try FileManager.default.contentsOfDirectory(atPath: open).filter { $0.hasSuffix(".part") }
    return try parts.reduce(0) {
      $0 + (try FileManager.default.attributesOfItem(atPath: open + "/" + $1)[.size] as? Int ?? 0)
    }
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
