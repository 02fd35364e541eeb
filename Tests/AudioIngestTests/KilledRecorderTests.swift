import AudioIngestTesting
import DeterministicTesting
import Foundation
import SystemTesting
import Testing

@testable import AudioIngest

/// Where a recorder that is to be killed records; set only in the process that is started for that.
private let victimFolder = ProcessInfo.processInfo.environment["EDGEBLUE_AUDIO_VICTIM"]

@Suite("A recorder that is killed", .computing) struct KilledRecorderTests {
  /// With `EDGEBLUE_KILLS=200` as often.
  @Test("A recorder killed at any moment loses at most a quarter of a second") func killedItLosesNextToNothing() throws
  {
    let rounds = Victim.kills(usual: 5)
    var random = SeededGenerator(seed: UInt64(rounds))
    let temporary = try TemporaryFolder()
    for round in 1...rounds {
      let path = temporary.path + "/\(round)"
      var victim = try Victim("aRecorderToBeKilled", ["EDGEBLUE_AUDIO_VICTIM": path])
      try victim.wait(for: "sent ")
      usleep(UInt32.random(in: 0..<300_000, using: &random))
      let sent = victim.kill(last: "sent") ?? 0

      let folder = try SegmentFolder(path: path, limits: .init(reserve: 0))
      _ = try folder.recover { Issue.record("round \(round): \($0)") }
      let catalog = try SegmentCatalog(path: path)
      #expect(catalog.problems.isEmpty)
      #expect(catalog.openCount == 0)
      var next = 0
      for entry in catalog.entries {
        try entry.segment.verify()
        let samples = try entry.segment.samples()
        #expect(samples == Recording.ramp(next..<(next + samples.count)), "round \(round)")
        next += samples.count
      }
      // 0.2 s that wait to be written, and the frames that the reassembler holds.
      #expect(next >= sent - 4000, "round \(round): \(next) of \(sent) samples")
    }
  }

  /// The process that is killed: it records for ever, and says what it was given before it is given more.
  @Test(
    "The process that is killed while it records",
    .enabled(if: victimFolder != nil, "runs only in a process that is killed"))
  func aRecorderToBeKilled() throws {
    let folder = try SegmentFolder(path: victimFolder!, limits: .init(reserve: 0))
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(3)))
    while true {
      Victim.say("sent \(recording.sent)")
      recording.play(frames: 1)
    }
  }
}
