import AudioIngestTesting
import Foundation
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The folder of segments", .computing) struct SegmentFolderTests {
  let temporary: TemporaryFolder

  init() throws { temporary = try TemporaryFolder() }

  private func folder(_ limits: SegmentFolder.Limits = .init(reserve: 0)) throws -> SegmentFolder {
    try SegmentFolder(path: temporary.path + "/recordings", limits: limits)
  }

  @Test("A segment contains the samples received") func aSegmentIsWhatWasHeard() throws {
    let folder = try folder()
    var recording = try Recording(folder)
    recording.play(frames: 300)
    recording.recorder.end(.shutdown, at: recording.moment)
    let segment = try #require(recording.recorder.finished().first)
    #expect(try segment.samples() == Recording.ramp(0..<48_000))
    try segment.verify()
    let info = segment.info
    #expect(info.name == "20261122T004500.000Z-000001")
    #expect(info.capture.iso8601 == "2026-11-22T00:45:00.000Z")
    #expect(info.samples == 48_000)
    #expect(info.duration == 3)
    #expect(info.gaps.isEmpty)
    #expect(info.closedBy == .shutdown)
    #expect(info.device.address == Recording.device.address)
    #expect(info.device.name == "Omi")
    #expect(info.codec == .pcm16k)
    #expect(info.measured.peak == 0)
    #expect(info.previous == nil)
    // One that looks at the folder sees the same.
    let catalog = try SegmentCatalog(path: folder.path)
    #expect(catalog.entries.map(\.segment) == [segment])
    #expect(catalog.problems.isEmpty)
    #expect(catalog.openCount == 0)
    #expect(try catalog.entry("1").segment == segment)
    #expect(try catalog.entry(info.name).segment == segment)
    #expect { try catalog.entry("2") } throws: { ($0 as? AudioIngestError)?.code == .noSuchSegment }
  }

  @Test("A changed file fails its verification") func whatWasChangedIsNoticed() throws {
    let folder = try folder()
    var recording = try Recording(folder)
    recording.play(frames: 50)
    recording.recorder.end(.shutdown, at: recording.moment)
    let segment = try #require(recording.recorder.finished().first)
    let file = try FileHandle(forUpdating: URL(filePath: segment.path))
    try file.seek(toOffset: 1000)
    try file.write(contentsOf: [1])
    #expect(throws: AudioIngestError.self) { try segment.verify() }
    try file.truncate(atOffset: 3000)
    #expect(throws: AudioIngestError.self) { try segment.samples() }
  }

  @Test("mediainfo finds a segment complete", .enabled(if: WAVReader.mediainfo.isInstalled, "needs mediainfo"))
  func mediainfoFindsItWhole() async throws { try await isRead(by: .mediainfo) }

  @Test("ffprobe accepts a segment", .enabled(if: WAVReader.ffprobe.isInstalled, "needs ffprobe"))
  func ffprobeReadsIt() async throws { try await isRead(by: .ffprobe) }

  @Test("sox accepts a segment", .enabled(if: WAVReader.sox.isInstalled, "needs sox"))
  func soxReadsIt() async throws { try await isRead(by: .sox) }

  private func isRead(by reader: WAVReader) async throws {
    let folder = try folder()
    var recording = try Recording(folder)
    recording.play(frames: 300)
    recording.recorder.end(.shutdown, at: recording.moment)
    try await reader.accepts(try #require(recording.recorder.finished().first).path, samples: 48_000)
  }

  @Test("A folder is locked by one recorder") func onlyOneRecorderHasAFolder() throws {
    let first = try folder()
    #expect { try folder() } throws: { ($0 as? AudioIngestError)?.code == .busy }
    withExtendedLifetime(first) {}
  }

  /// A child that is being started has its parent's descriptors, until it runs its program.
  @Test("A folder is unlocked when its recorder is released, even if a child inherited the descriptor")
  func aFolderIsFreeOnceItsRecorderIsGone() throws {
    var first: SegmentFolder? = try folder()
    let path = try #require(first?.paths.lock)
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
    let lock = try #require(
      descriptors.first {
        // Others are closed meanwhile.
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
      })
    let inherited = dup(lock)
    defer { close(inherited) }
    first = nil
    _ = try folder()
  }

  @Test("Numbers are never used twice") func numbersAreNeverUsedTwice() throws {
    for round in 1...3 {
      let folder = try folder()
      var recording = try Recording(folder)
      recording.play(frames: 10)
      recording.recorder.end(.shutdown, at: recording.moment)
      let segment = try #require(recording.recorder.finished().first)
      #expect(segment.info.id == round)
      // Also when those before it are gone.
      try FileManager.default.removeItem(atPath: segment.path)
      try FileManager.default.removeItem(atPath: segment.path.replacing(".wav", with: ".json"))
    }
  }

  @Test("A segment left by a crash is recovered") func whatACrashLeftBecomesASegment() throws {
    var folder: SegmentFolder? = try folder()
    var recording: Recording? = try Recording(folder!)
    recording!.play(frames: 200)
    recording!.lose(frames: 30)
    recording!.play(frames: 250)
    let name = try #require(try SegmentCatalog(path: folder!.path).openCount == 1 ? openNames().first : nil)
    recording = nil
    folder = nil
    // The last line and the last sample were being written.
    try append([UInt8(ascii: "{"), UInt8(ascii: "\"")], to: "open/\(name).log")
    try append([7], to: "open/\(name).part")

    let next = try self.folder()
    let segment = try #require(try next.recover { Issue.record($0) }.first)
    let info = segment.info
    let samples = try segment.samples()
    #expect(info.closedBy == .recovered)
    #expect(info.name == name)
    #expect(samples.count >= 480 * 160 - 3520)
    #expect(info.samples == samples.count)
    #expect(info.gaps == [AudioGap(start: 32_000, samples: 4800, concealed: 1600, reason: .lost)])
    #expect(Array(samples[..<32_000]) == Recording.ramp(0..<32_000))
    #expect(samples[36_800...] == Recording.ramp(36_800..<samples.count)[...])
    #expect(try next.recover { Issue.record($0) }.isEmpty)
    #expect(try openNames().isEmpty)
  }

  @Test("A corrupt log is reported, and its files stay") func aLogThatSaysNothingIsReportedAndKept() throws {
    let path = try folder().path
    for (name, log) in [("x-000007", "nonsense\n"), ("x-000008", "{\"gap\":null}\n")] {
      try Data(log.utf8).write(to: URL(filePath: path + "/open/\(name).log"))
      try Data(count: 1000).write(to: URL(filePath: path + "/open/\(name).part"))
    }
    var problems: [AudioIngestError] = []
    #expect(try folder().recover { problems.append($0) }.isEmpty)
    #expect(problems.map(\.code) == [.damagedFile, .damagedFile])
    #expect(try openNames().count == 2)
    #expect(try folder().begin(Recording.device, .pcm16k, capturedAtMs: 0, previous: nil).info.id == 9)
  }

  @Test("Delivered segments are removed first") func deliveredSegmentsGoFirst() throws {
    let folder = try folder(.init(quota: 193_500, reserve: 0))
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(2), quietSearch: .zero))
    recording.play(frames: 600)
    #expect(recording.recorder.finished().map(\.info.id) == [1, 2, 3])
    // 192 KB of samples, and the sidecars: more than the quota, and nothing delivered.
    recording.play(frames: 100)
    let stalled = recording.recorder.takeEvents()
    #expect(stalled.count { if case .stalled(let error) = $0 { error.code == .noSpace } else { false } } == 1)
    #expect(try SegmentCatalog(path: folder.path).entries.count == 3)

    try folder.markDelivered(2)
    #expect { try folder.markDelivered(9) } throws: { ($0 as? AudioIngestError)?.code == .noSuchSegment }
    #expect(try SegmentCatalog(path: folder.path).entries.map(\.isDelivered) == [false, true, false])
    recording.play(frames: 400)
    recording.recorder.end(.shutdown, at: recording.moment)
    let ids = try SegmentCatalog(path: folder.path).entries.map(\.segment.info.id)
    #expect(ids.prefix(2) == [1, 3])
    #expect(ids.count >= 3)
  }

  private func openNames() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: temporary.path + "/recordings/open")
      .filter { $0.hasSuffix(".part") }.map { String($0.dropLast(5)) }
  }

  private func append(_ bytes: [UInt8], to file: String) throws {
    let handle = try FileHandle(forWritingTo: URL(filePath: temporary.path + "/recordings/" + file))
    try handle.seekToEnd()
    try handle.write(contentsOf: bytes)
  }
}
