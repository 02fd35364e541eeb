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

  private func expectQueued() throws {
    let segment = try #require(try SegmentCatalog(path: out).entries.first?.segment)
    #expect(segment.info.samples > 0)
    let store = try QueueStore(in: state)
    let items = try store.items(in: [.waiting, .uploading])
    #expect(items.map { $0.request.content.path.split(separator: ".").last } == ["json", "wav"])
    #expect(items.map(\.request.endpoint) == [Self.server, Self.server])
    #expect(items.last?.request.content.sha256 == segment.info.measured.sha256)
  }

  /// Records 50 frames, and ends the recorder.
  private func record(endedBy signal: Int32, uploads: Bool = true) async throws -> Int32 {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    guard case .address(let bus) = lab.fake.bus else { throw TestTimeout("a bus of its own") }
    var words = [
      "record", "--out", out, "--state", state, "--adapter", lab.fake.adapters[1].name, "--reserve", "0",
      "--wearable", lab.adapters[0].address.description,
    ]
    if uploads { words += ["--upload", "bucket", "--account", "ada", "--endpoint", Self.server] }
    let recorder = try ChildProcess(
      program, words, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus, "HOME": temporary.path], output: .discarded,
      errors: .discarded)
    defer { recorder.signal(SIGKILL) }
    try await wearable.waitForSubscriber()
    try await wearable.send((0..<50).map { Array(Recording.bytes(Recording.ramp($0 * 160..<($0 + 1) * 160))) })
    try await eventually("the frames are in the file") { try openBytes() >= 44 + 50 * 320 }
    recorder.signal(signal)
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
