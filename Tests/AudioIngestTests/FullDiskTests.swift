import AudioIngestTesting
import Foundation
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("A full disk at every write", .computing) struct FullDiskTests {
  /// The kernel refuses, and not a double: what was kept is right, what is missing is told, and it goes on when there is
  /// room again.
  @Test(
    "Recording continues after the kernel has refused to write to a full disk",
    .enabled(if: SmallDisk.isPossible, "needs to be allowed to mount a disk in memory"))
  func aDiskThatIsReallyFull() throws {
    let disk = try SmallDisk(megabytes: 1)
    // With less than nothing in reserve it is the kernel that refuses.
    let folder = try SegmentFolder(path: disk.path + "/recordings", limits: .init(reserve: -1))
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(10)))
    // 1.4 MB of samples.
    recording.play(frames: 4500)
    let stalls = recording.recorder.takeEvents().compactMap { if case .stalled(let error) = $0 { error } else { nil } }
    #expect(!stalls.isEmpty)
    #expect(stalls.allSatisfy { $0.code == .noSpace })
    #expect(stalls.allSatisfy { $0.errno == ENOSPC })
    try disk.resize(megabytes: 8)
    recording.play(frames: 1000)
    recording.recorder.end(.shutdown, at: recording.moment)
    _ = try folder.recover { Issue.record($0) }

    let catalog = try SegmentCatalog(path: folder.path)
    #expect(catalog.problems.isEmpty)
    #expect(catalog.openCount == 0)
    var next = 0
    var told = 0.0
    for entry in catalog.entries {
      try entry.segment.verify()
      let samples = try entry.segment.samples()
      let start = Int(entry.segment.info.capture.unixMs - Recording.start) * 16
      #expect(start >= next)
      #expect(samples == Recording.ramp(start..<(start + samples.count)))
      next = start + samples.count
      told += entry.segment.info.previous?.pause ?? 0
    }
    let kept = catalog.entries.reduce(0) { $0 + $1.segment.info.samples }
    // Most of the megabyte, and all that came when there was room.
    #expect(kept > 25_000 * 16)
    #expect(next == recording.sent)
    #expect(abs(Double(recording.sent - kept) / 16_000 - told) < 0.1)
  }
}
