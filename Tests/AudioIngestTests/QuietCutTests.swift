import AudioIngestTesting
import DurableFiles
import Foundation
import Streams
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("Segments that end where it is quiet", .computing) struct QuietCutTests {
  let temporary: TemporaryFolder

  // In memory: there are thousands of syncs.
  init() throws { temporary = try TemporaryFolder(in: access("/dev/shm", W_OK) == 0 ? "/dev/shm" : nil) }

  private func folder(_ disk: Disk = Disk()) throws -> SegmentFolder {
    try SegmentFolder(path: temporary.path + "/recordings", limits: .init(reserve: 0), disk: disk)
  }

  /// A voice with a hole of 240 ms, seconds from its start.
  private static func voice(seconds: Int, holes: [Double]) -> [Int16] {
    // Never soft, unlike the voice-like sound.
    var sound = (0..<seconds * 16_000).map { Int16(truncatingIfNeeded: 4000 + $0 % 997 * 8) }
    for hole in holes {
      let start = Int(hole * 16_000)
      sound.replaceSubrange(start..<start + 3840, with: repeatElement(0, count: 3840))
    }
    return sound
  }

  /// Records a sound in frames of 10 ms, with pauses before some of them, and returns the segments.
  private func record(
    _ sound: [Int16], _ rules: SegmentRules, pauses: [Int: Duration] = [:], into folder: SegmentFolder
  ) throws -> [FinishedSegment] {
    let recorder = try StreamRecorder(Recording.device, .pcm16k, framing: .bare, into: folder, rules: rules)
    var now = Duration.zero
    for frame in 0..<sound.count / 160 {
      now += .milliseconds(10) + pauses[frame, default: .zero]
      let moment = Moment(instant: now, wallMs: Recording.start + now.milliseconds)
      recorder.receive(Recording.bytes(Array(sound[frame * 160..<(frame + 1) * 160])), at: moment)
    }
    recorder.end(.shutdown, at: Moment(instant: now, wallMs: Recording.start + now.milliseconds))
    return recorder.finished()
  }

  @Test("A cut lies in the quietest place, and no sample is lost or doubled") func theCutIsInTheHole() throws {
    let sound = Self.voice(seconds: 70, holes: [5, 23.4, 27, 46])
    let segments = try record(sound, SegmentRules(maximum: .seconds(30)), into: try folder())
    #expect(segments.map(\.info.closedBy) == [.maximum, .maximum, .shutdown])
    // The later of two equal places, and one between 20 s and 30 s of the second segment.
    let ends = segments.map { Int($0.info.capture.unixMs - Recording.start) + $0.info.samples / 16 }
    #expect((27_000...27_240).contains(ends[0]))
    #expect((47_000...57_240).contains(ends[1]))
    #expect(segments.allSatisfy { $0.info.samples <= 480_000 })
    #expect(try segments.flatMap { try $0.samples() } == sound)
    for (before, next) in zip(segments, segments.dropFirst()) {
      try before.verify()
      #expect(next.info.previous == .init(id: before.info.id, closedBy: .maximum, pause: 0))
      #expect(next.info.capture.unixMs >= before.info.endMs)
      #expect(next.info.capture.unixMs - before.info.endMs <= 1)
    }
  }

  @Test("A gap found late moves with the samples behind the cut") func aLateGapIsCarried() throws {
    let sound = Self.voice(seconds: 45, holes: [20.4])
    let pauses = [2150: Duration.seconds(1), 100: .seconds(2)]
    let segments = try record(sound, SegmentRules(maximum: .seconds(32)), pauses: pauses, into: try folder())
    #expect(segments.map(\.info.closedBy) == [.maximum, .shutdown])
    #expect(segments.map { $0.info.gaps.map(\.reason) } == [[.unsent], [.unsent]])
    for segment in segments {
      try segment.verify()
      #expect(segment.info.gaps.allSatisfy { $0.isLate == nil })
    }
    // Without what stands for the pauses it is what was sent.
    let heard = try segments.flatMap { segment in
      var samples = try segment.samples()
      for gap in segment.info.gaps.reversed() { samples.removeSubrange(gap.start..<gap.end) }
      return samples
    }
    #expect(heard == sound)
  }

  @Test("Speech over a cut is in both segments") func speechOverACutIsInBoth() throws {
    var loud = Self.voice(seconds: 20, holes: [])
    // Short pauses, without which it would become background.
    for second in 0..<20 {
      loud.replaceSubrange(second * 16_000..<second * 16_000 + 1600, with: repeatElement(0, count: 1600))
    }
    let segments = try record(loud, SegmentRules(maximum: .seconds(12)), into: try folder())
    try #require(segments.count == 2)
    let spoken = segments.map { $0.info.speech.last?.samples ?? 0 }
    #expect(segments[0].info.speech.last.map { $0.start + $0.samples } == segments[0].info.samples)
    #expect(segments[1].info.speech.first?.start == 0)
    #expect(spoken.reduce(0, +) > 250_000)
  }

  /// The state of the disk before each of its steps is what a kill there leaves.
  @Test("A recorder killed at any step of a cut loses and doubles nothing") func aKillDuringACutLosesNothing() throws {
    let path = temporary.path + "/recordings"
    let sent = Lock(0)
    let copies = Lock<[(path: String, sent: Int)]>([])
    let disk = Disk { [temporary] _, _ in
      copies.withLock { copies in
        let copy = temporary.path + "/copy-\(copies.count)"
        guard (try? FileManager.default.copyItem(atPath: path, toPath: copy)) != nil else { return }
        copies.append((copy, sent.withLock { $0 }))
      }
      return nil
    }
    let folder = try folder(disk)
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(3)))
    for _ in 0..<700 {
      recording.play(frames: 1)
      sent.withLock { [now = recording.sent] in $0 = now }
    }
    withExtendedLifetime(folder) {}
    var cuts = 0
    for (copy, sent) in copies.withLock({ $0 }) {
      let left = try SegmentFolder(path: copy, limits: .init(reserve: 0))
      let open = try FileManager.default.contentsOfDirectory(atPath: copy + "/open").count { $0.hasSuffix(".part") }
      cuts += open > 1 ? 1 : 0
      _ = try left.recover { Issue.record("\(copy): \($0)") }
      let samples = try SegmentCatalog(path: copy).entries.flatMap { try $0.segment.samples() }
      try #require(samples == Recording.ramp(0..<samples.count), "\(copy)")
      // 0.2 s that wait to be written, and the frames that the reassembler holds.
      try #require(samples.count >= sent - 4000, "\(copy): \(samples.count) of \(sent)")
      try FileManager.default.removeItem(atPath: copy)
    }
    #expect(cuts > 10, "no kill during a cut")
  }

  @Test("No segment begins before the end of the last one, also when the clock is set back")
  func theClockIsSetBack() throws {
    let folder = try folder()
    let rules = SegmentRules(maximum: .seconds(3))
    let recorder = try StreamRecorder(Recording.device, .pcm16k, framing: .bare, into: folder, rules: rules)
    let frame = [UInt8](repeating: 7, count: 320)
    var now = Duration.zero
    var wall = Recording.start
    func play(_ frames: Int) {
      for _ in 0..<frames {
        now += .milliseconds(10)
        wall += 10
        recorder.receive(frame, at: Moment(instant: now, wallMs: wall))
      }
    }
    for step in [0, -3_600_000, 400, -7, 7_200_000, -86_400_000] {
      play(420)
      wall += Int64(step)
      play(210)
      recorder.end(.linkLoss, at: Moment(instant: now, wallMs: wall))
      now += .seconds(20)
      wall += 20_000
    }
    let infos = recorder.finished().map(\.info)
    #expect(infos.count >= 18)
    #expect(infos.map(\.name) == infos.map(\.name).sorted())
    for (before, next) in zip(infos, infos.dropFirst()) {
      #expect(next.capture.unixMs >= before.endMs, "segment \(next.id)")
      let pause = before.closedBy == .linkLoss ? 20.0 : 0
      #expect(abs((next.previous?.pause ?? -1) - pause) < 0.1, "segment \(next.id)")
    }
  }

  @Test("No segment begins before the end of its wearable's last one, also of an earlier recorder")
  func theClockIsSetBackBetweenRecorders() throws {
    // The sidecar of the last one cannot be read.
    let last = temporary.path + "/recordings/20991231T000000.000Z-000001."
    try FileManager.default.createDirectory(atPath: last + "json", withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: last + "wav"))
    var infos: [String: [SegmentInfo]] = [:]
    for run in Self.runs {
      let device = AudioDevice(address: "FA:0B:00:00:00:0\(run.device)")
      let recorder = try StreamRecorder(
        device, .pcm16k, framing: .bare, into: folder(), rules: SegmentRules(maximum: .seconds(3)))
      for frame in 1...500 {
        recorder.receive([UInt8](repeating: 7, count: 320), at: run.moment(frame))
      }
      recorder.end(.shutdown, at: run.moment(500))
      infos[device.address, default: []] += recorder.finished().map(\.info)
    }
    #expect(infos.values.map(\.count).min() ?? 0 >= 4)
    for infos in infos.values {
      for (before, next) in zip(infos, infos.dropFirst()) {
        #expect(next.capture.unixMs >= before.endMs, "segment \(next.id) of \(next.device.address)")
      }
    }
    // The other wearable's recordings say nothing about this one, nor do its own once the clock has caught up.
    #expect(infos["FA:0B:00:00:00:02"]?.first?.capture.unixMs == Self.runs[1].wallMs)
    #expect(infos["FA:0B:00:00:00:01"]?.last.map { abs($0.endMs - Self.runs[5].wallMs - 5000) <= 1 } == true)
  }

  /// A recorder of 5 s, and the wall clock at its start.
  private struct Run {
    let device: Int
    let wallMs: Int64

    init(_ device: Int, secondsLater seconds: Int64) {
      self.device = device
      wallMs = Recording.start + seconds * 1000
    }

    func moment(_ frame: Int) -> Moment {
      Moment(instant: .milliseconds(frame * 10), wallMs: wallMs + Int64(frame) * 10)
    }
  }
  private static let runs = [
    Run(1, secondsLater: 0), Run(2, secondsLater: -600), Run(1, secondsLater: -7200), Run(2, secondsLater: -700),
    Run(1, secondsLater: -86_400), Run(1, secondsLater: 9000),
  ]
}

extension Duration {
  fileprivate var milliseconds: Int64 { Int64(self / .milliseconds(1)) }
}
