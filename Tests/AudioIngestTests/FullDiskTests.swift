import Foundation
import Streams
import SystemTesting
import Testing

@testable import AudioIngest

@Suite(.computing) struct FullDiskTests {
  /// What nobody can decode is kept again when there is room again, and why it was not is said once.
  @Test func whatNobodyKnowsIsKeptAgain() async throws {
    let (temporary, faults, time) = (try TemporaryFolder(), DiskFaults(), StillTime())
    let folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0), disk: faults.disk)
    let told = Lock<[WearableRecorder.Event]>([])
    let feed = RecordingFeed(folder, .omi, SegmentRules(), now: { time.now }) { event in
      told.withLock { $0.append(event) }
    }
    #expect(try await feed.beginRaw())
    func hear(_ byte: UInt8) async {
      await feed.take([0, 0, 0, byte])
      await feed.tick()
      time.pass(.seconds(1))
    }
    await hear(1)
    faults.fail(1...(.max), with: ENOSPC)
    for byte in UInt8(2)...4 { await hear(byte) }
    #expect(try await !feed.beginRaw())
    faults.fail(nil, with: 0)
    for byte in UInt8(5)...6 { await hear(byte) }
    await feed.end(.shutdown)
    let files = try folder.disk.names(in: temporary.path).filter { $0.hasSuffix(".raw") }
    let kept = try files.map { name in
      try String(contentsOfFile: temporary.path + "/" + name, encoding: .utf8).split(separator: "\n").compactMap(\.last)
    }
    #expect(kept == [["1"], ["5", "6"]])
    #expect(told.withLock { $0.count } == 1)
  }

  /// The kernel refuses, and not a double: what was kept is right, what is missing is told, and it goes on when there is
  /// room again.
  @Test(.enabled(if: SmallDisk.isPossible, "needs to be allowed to mount a disk in memory"))
  func aDiskThatIsReallyFull() throws {
    let disk = try SmallDisk(megabytes: 1)
    // With less than nothing in reserve it is the kernel that refuses.
    let folder = try SegmentFolder(path: disk.path + "/recordings", limits: .init(reserve: -1))
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(10)))
    // 1.4 MB of samples.
    recording.play(frames: 4500)
    let stalls = recording.recorder.takeEvents().compactMap { if case .stalled(let error) = $0 { error } else { nil } }
    #expect(!stalls.isEmpty && stalls.allSatisfy { $0.code == .noSpace && $0.errno == ENOSPC })
    try disk.resize(megabytes: 8)
    recording.play(frames: 1000)
    recording.recorder.end(.shutdown, at: recording.moment)
    _ = try folder.recover { Issue.record($0) }

    let catalog = try SegmentCatalog(path: folder.path)
    #expect(catalog.problems.isEmpty && catalog.openCount == 0)
    var (next, told) = (0, 0.0)
    for entry in catalog.entries {
      try entry.segment.verify()
      let samples = try entry.segment.samples()
      let start = Int(entry.segment.info.capturedAtMs - Recording.start) * 16
      #expect(start >= next && samples == Recording.ramp(start..<(start + samples.count)))
      next = start + samples.count
      told += entry.segment.info.previous?.pause ?? 0
    }
    let kept = catalog.entries.reduce(0) { $0 + $1.segment.info.samples }
    // Most of the megabyte, and all that came when there was room.
    #expect(kept > 25_000 * 16 && next == recording.sent)
    #expect(abs(Double(recording.sent - kept) / 16_000 - told) < 0.1)
  }
}
