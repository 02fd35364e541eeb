import AudioIngest
import AudioIngestTesting
import AudioWearables
import Foundation
import SystemTesting
import Testing
import Timing

@testable import edgeblue

@Suite(
  "The built command `edgeblue record`, with a fake BlueZ",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct RecordProgramTests {
  @Test("The audio of a wearable is recorded, listed, plotted and verified")
  func whatAWearableSendsIsRecordedAndLookedAt() async throws {
    let temporary = try TemporaryFolder()
    let out = temporary.path + "/recordings"
    try Self.leave(48_000, in: out)
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    guard case .address(let bus) = lab.fake.bus else { return #expect(Bool(false), "the fake has no bus of its own") }
    let record = try ChildProcess(
      program,
      [
        "record", "--json", "--out", out, "--adapter", lab.fake.adapters[1].name, "--reserve", "0",
        "--wearable", lab.adapters[0].address.description,
      ],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus], errors: .discarded)
    async let recorded = record.outcome()
    // Also when the test fails or its time is over: otherwise nobody ends it.
    defer { record.signal(SIGKILL) }
    try await wearable.waitForSubscriber()
    try await Self.send200Frames(from: wearable, to: out)
    record.signal(SIGTERM)
    let (status, output, _) = await recorded
    #expect(status == 0)
    #expect(abs(try #require(wearable.time) - Int(Date.now.timeIntervalSince1970)) < 60)

    try check(output, lab.adapters[0].address.description, out)
    try await lab.stop()

    try await look(at: out, temporary.path)
  }

  @Test("Without a chosen wearable those in range are listed, and none is connected")
  func noWearableIsTakenByChance() async throws {
    let temporary = try TemporaryFolder()
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    guard case .address(let bus) = lab.fake.bus else { return #expect(Bool(false), "the fake has no bus of its own") }
    let record = try ChildProcess(
      program, ["record", "--out", temporary.path, "--adapter", lab.fake.adapters[1].name, "--reserve", "0"],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus], errors: .kept)
    let outcome = await record.outcome()
    #expect(outcome.status == ExitStatus.badInput.rawValue)
    #expect(outcome.errors.contains("no wearable is chosen; in range: Omi (\(lab.adapters[0].address)"))
    #expect(outcome.errors.contains("--wearable \(lab.adapters[0].address)"))
    #expect(await lab.fake.adapters[0].holdings().links == 0)
    withExtendedLifetime(wearable) {}
    try await lab.stop()
  }

  /// Sends 200 frames, five of which are lost, in batches of 50.
  private static func send200Frames(from wearable: FakeWearable, to out: String) async throws {
    for first in stride(from: 0, to: 200, by: 50) {
      let lost = first == 100 ? 5 : 0
      wearable.lose(lost)
      let frames = (first + lost..<first + 50).map { Recording.ramp($0 * 160..<($0 + 1) * 160) }
      try await wearable.send(frames.map { Array(Recording.bytes($0)) })
      // Wait until the frames are in the file: a socket holds about 170 frames, and discards more, as a radio does.
      let bytes = 44 + (first + 50) * 320
      while try openBytes(out) < bytes { try await Task.sleep(for: .milliseconds(20), clock: .steady) }
    }
  }

  private func check(_ output: String, _ device: String, _ out: String) throws {
    let events = try output.split(separator: "\n").map { try #require(Self.object($0)) }
    func named(_ name: String) -> [[String: Any]] { events.filter { $0["event"] as? String == name } }
    #expect(named("recovered").map { $0["samples"] as? Int } == [48_000])
    // Both ends have one agent here, the recorder's, which agrees to no pairing that a peer starts.
    #expect(named("problem").map { ($0["error"] as? String)?.contains("does not pair") } == [true])
    #expect(named("state").map { $0["state"] as? String } == ["connecting", "subscribing", "streaming"])
    #expect(named("segment").count == 1)
    #expect(named("segment").first?["device"] as? String == device)
    #expect(!named("status").isEmpty)

    let chosen = try SegmentFolder(path: out).wearables(of: OmiWearable())
    #expect(chosen.map(\.address.description) == [device])
    #expect(chosen.map(\.protection) == [.unpaired])
    let catalog = try SegmentCatalog(path: out)
    #expect(catalog.problems.isEmpty)
    #expect(catalog.openCount == 0)
    #expect(catalog.entries.map(\.segment.info.id) == [1, 2])
    let segment = catalog.entries[1].segment
    #expect(named("segment").first?["samples"] as? Int == segment.info.samples)
    #expect(named("segment").first?["missingSamples"] as? Int == segment.info.missingSamples)
    var samples = try segment.samples()
    // What came late on a slow machine is accounted for; without that it is what was sent.
    for gap in segment.info.gaps.reversed() where gap.reason == .unsent { samples.removeSubrange(gap.start..<gap.end) }
    #expect(samples.count == 32_000)
    #expect(samples[..<16_000] == Recording.ramp(0..<16_000)[...])
    #expect(samples[16_800...] == Recording.ramp(16_800..<32_000)[...])
    #expect(segment.info.gaps.filter { $0.reason == .lost }.map(\.samples) == [800])
  }

  private func look(at out: String, _ temporary: String) async throws {
    let list = try await run("list", "--in", out)
    #expect(list.status == 0)
    #expect(list.output.split(separator: "\n").count == 3)
    #expect(list.output.contains("0.05 s"))
    let json = try await run("list", "--in", out, "--json").output
    #expect((Self.object(json)?["segments"] as? [Any])?.count == 2)
    // Without a name the newest.
    #expect(try await run("show", "--in", out).output.contains("0.050 s  lost packets; 0.050 s of it concealed"))
    let play = try await run("play-info", "--in", out, "2", "--json").output
    let cues = try #require(Self.object(play)?["cues"] as? [[String: Any]])
    let lost = cues.filter { $0["kind"] as? String == "lost" }
    #expect(lost.contains { $0["start"] is Int })
    #expect(try await run("plot", "--in", out, "2", "-o", temporary + "/it.svg").status == 0)
    #expect(try String(contentsOfFile: temporary + "/it.svg", encoding: .utf8).contains("lost packets"))
    #expect(try await run("plot", "--in", out, "9", "-o", temporary + "/it.svg").status == ExitStatus.badInput.rawValue)
    #expect(try await run("repair", "--in", out).output.contains("2 segments are intact"))

    let path = try SegmentCatalog(path: out).entries[0].segment.path
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: 1000)
    try file.write(contentsOf: [1])
    let broken = try await run("repair", "--in", out)
    #expect(broken.status == ExitStatus.failed.rawValue)
    #expect(broken.output.contains("was changed since it was recorded"))
    let folder = try SegmentFolder(path: out)
    #expect(try await run("repair", "--in", out).status == ExitStatus.tryAgain.rawValue)
    withExtendedLifetime(folder) {}
  }

  private func run(_ arguments: String...) async throws -> (status: Int32, output: String) {
    let outcome = await (try ChildProcess(program, ["segments"] + arguments, errors: .discarded)).outcome()
    return (outcome.status, outcome.output)
  }

  /// A recorder that ended without a word.
  private static func leave(_ samples: Int, in path: String) throws {
    let folder = try SegmentFolder(path: path, limits: .init(reserve: 0))
    var recording = try Recording(folder)
    recording.play(frames: samples / 160)
    recording.recorder.tick(at: recording.moment)
  }

  private static func openBytes(_ path: String) throws -> Int {
    let open = path + "/open"
    let parts = try FileManager.default.contentsOfDirectory(atPath: open).filter { $0.hasSuffix(".part") }
    return parts.reduce(0) {
      // It may be gone since its name was read.
      $0 + ((try? FileManager.default.attributesOfItem(atPath: open + "/" + $1)[.size]) as? Int ?? 0)
    }
  }

  private static func object(_ text: some StringProtocol) -> [String: Any]? {
    do {
      return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    } catch {
      return nil
    }
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
