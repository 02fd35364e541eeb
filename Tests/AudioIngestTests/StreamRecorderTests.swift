import AudioIngestTesting
import DurableFiles
import Foundation
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The stream recorder", .computing) struct StreamRecorderTests {
  let temporary: TemporaryFolder

  // In memory: none of these tests is about a power cut, and there are thousands of syncs.
  init() throws { temporary = try TemporaryFolder(in: access("/dev/shm", W_OK) == 0 ? "/dev/shm" : nil) }

  private func folder(_ disk: Disk = Disk()) throws -> SegmentFolder {
    try SegmentFolder(path: temporary.path + "/recordings", limits: .init(reserve: 0), disk: disk)
  }

  /// Cut at the maximum, nothing is missing between two segments, and a gap over the cut is in both.
  @Test("Segments cut at the maximum follow each other without a lost sample") func segmentsFollowEachOther() throws {
    let folder = try folder()
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(2), quietSearch: .zero))
    recording.play(frames: 180)
    recording.lose(frames: 50)
    recording.play(frames: 170)
    recording.recorder.end(.shutdown, at: recording.moment)
    let segments = recording.recorder.finished()
    #expect(segments.map(\.info.closedBy) == [.maximum, .maximum])
    #expect(segments.map(\.info.samples) == [32_000, 32_000])
    #expect(segments[0].info.gaps == [AudioGap(start: 28_800, samples: 3200, concealed: 1600, reason: .lost)])
    #expect(segments[1].info.gaps == [AudioGap(start: 0, samples: 4800, concealed: 0, reason: .lost)])
    #expect(try segments[1].samples()[4800...] == Recording.ramp(36_800..<64_000)[...])
    #expect(segments[1].info.previous == .init(id: 1, closedBy: .maximum, pause: 0))
    #expect(segments[1].info.capture.unixMs - segments[0].info.capture.unixMs == 2000)
  }

  /// From the air to the disk: the segment is what the decoder makes of the frames, to the bit.
  @Test("A segment of Opus is bit-identical to the decoder's output", arguments: [AudioCodec.opus10ms, .opus20ms])
  func opusIsWhatItsDecoderMakes(_ codec: AudioCodec) throws {
    let folder = try folder()
    let recorder = try StreamRecorder(Recording.device, codec, framing: .omi, into: folder)
    let frames = OpusEncoder(codec).frames(voiceLikeSound(samples: 32_000, rate: 16_000))
    let decoder = try codec.makeDecoder()
    var sender = FakeSender(fragment: 100, number: 65_500)
    var expected: [Int16] = []
    for (index, frame) in frames.enumerated() {
      try decoder.decode(frame[...], into: &expected)
      let moment = Moment(instant: codec.frameDuration * (index + 1), wallMs: Recording.start)
      for value in sender.notifications(frame) { recorder.receive(value, at: moment) }
    }
    recorder.end(.shutdown, at: Moment(instant: .seconds(3), wallMs: Recording.start))
    #expect(try recorder.finished().first?.samples() == expected)
    #expect(expected.count == 32_000)
  }

  @Test("A lost connection ends a segment, and the next one names the pause")
  func aLostLinkEndsASegmentAndThePauseIsTold() throws {
    let folder = try folder()
    var recording = try Recording(folder)
    recording.play(frames: 100)
    recording.recorder.end(.linkLoss, at: recording.moment)
    recording.pass(.seconds(30))
    recording.play(frames: 100)
    recording.recorder.end(.shutdown, at: recording.moment)
    let segments = recording.recorder.finished()
    #expect(segments.map(\.info.closedBy) == [.linkLoss, .shutdown])
    #expect(segments.map(\.info.samples) == [16_000, 16_000])
    let previous = try #require(segments[1].info.previous)
    #expect(previous.closedBy == .linkLoss)
    #expect(abs(previous.pause - 30) <= 1)
    #expect(segments[1].info.gaps.isEmpty)
  }

  /// It is noticed five seconds later, and stands where it belongs.
  @Test("Audio that the device never sent becomes silence") func whatTheDeviceNeverSentIsSilence() throws {
    let folder = try folder()
    var recording = try Recording(folder)
    recording.play(frames: 500)
    recording.pass(.seconds(2))
    recording.play(frames: 300)
    recording.lose(frames: 5)
    recording.play(frames: 695)
    recording.recorder.end(.shutdown, at: recording.moment)
    let segment = try #require(recording.recorder.finished().first)
    let info = segment.info
    let gap = try #require(info.gaps.first)
    let lost = try #require(info.gaps.last)
    #expect(info.gaps.map(\.reason) == [.unsent, .lost])
    #expect(gap.start == 80_000)
    #expect(abs(gap.samples - 32_000) <= 160)
    #expect(lost.start == gap.end + 48_000)
    #expect(lost.samples == 800)
    #expect(gap.concealed == 0)
    #expect(info.samples == 240_000 + gap.samples)
    #expect(info.missingSamples == gap.samples + 800)
    let samples = try segment.samples()
    let isRight = [
      samples[..<80_000] == Recording.ramp(0..<80_000)[...], samples[80_000..<gap.end].allSatisfy { $0 == 0 },
      samples[gap.end..<lost.start] == Recording.ramp(80_000..<128_000)[...],
      samples[lost.end...] == Recording.ramp(128_800..<240_000)[...],
    ]
    #expect(isRight == [true, true, true, true])
    #expect(recording.recorder.missingSamples == info.missingSamples)
  }

  /// Two of them, a crash behind the second, and speech on both sides.
  @Test("Gaps found late survive a crash") func aLateGapSurvivesACrash() throws {
    var folder: SegmentFolder? = try folder()
    var recording: Recording? = try Recording(folder!)
    for seconds in [2, 1] {
      recording!.play(frames: 600)
      recording!.pass(.seconds(seconds))
    }
    recording!.play(frames: 600)
    recording!.recorder.tick(at: recording!.moment)
    recording = nil
    folder = nil
    let segment = try #require(try self.folder().recover { Issue.record($0) }.first)
    let info = segment.info
    let samples = try segment.samples()
    let gaps = info.gaps
    try #require(gaps.map(\.reason) == [.unsent, .unsent])
    #expect(gaps[0].start == 96_000)
    #expect(gaps[1].start == gaps[0].end + 96_000)
    func isRamp(_ range: Range<Int>, from start: Int) -> Bool {
      samples[range] == Recording.ramp(start..<(start + range.count))[...]
    }
    #expect(isRamp(gaps[0].end..<gaps[1].start, from: 96_000))
    #expect(isRamp(gaps[1].end..<samples.count, from: 192_000))
    #expect(samples.count >= 288_000 - 3520 + info.missingSamples)
    #expect(info.missingSamples > 40_000)
    // Published, it is not made again.
    #expect(try self.folder().recover { Issue.record($0) }.isEmpty)
  }

  /// Where it belongs, a segment has ended meanwhile, or would become too long: then it stands behind what came since.
  @Test("A gap found late that does not fit is inserted at the present position")
  func aLateGapThatDoesNotFitStandsLater() throws {
    let folder = try folder()
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(9)))
    recording.play(frames: 700)
    recording.pass(.seconds(2))
    recording.play(frames: 1000)
    recording.recorder.end(.shutdown, at: recording.moment)
    let segments = recording.recorder.finished()
    #expect(segments.allSatisfy { $0.info.samples <= 144_000 })
    #expect(abs(segments.map(\.info.samples).reduce(0, +) - 304_000) <= 160)
    #expect(segments.flatMap(\.info.gaps).allSatisfy { $0.reason == .unsent })
  }

  /// While no segment is open, what is held for the next one keeps its time.
  @Test("A gap found late moves the held samples") func aLateGapInWhatIsHeldMovesIt() throws {
    let folder = try folder()
    let rules = SegmentRules(mode: .speech, preRoll: .seconds(10))
    let recorder = try StreamRecorder(Recording.device, .pcm16k, framing: .bare, into: folder, rules: rules)
    let loud = Recording.bytes(Array(voiceLikeSound(samples: 8160, rate: 16_000)[8000...]))
    func play(_ range: Range<Int>, after pause: Int, _ frame: [UInt8]) {
      for index in range {
        let now = index * 10 + pause
        recorder.receive(frame, at: Moment(instant: .milliseconds(now), wallMs: Recording.start + Int64(now)))
      }
    }
    let quiet = [UInt8](repeating: 1, count: 320)
    play(0..<200, after: 0, quiet)
    play(200..<800, after: 3000, quiet)
    play(800..<900, after: 3000, loud)
    recorder.end(.shutdown, at: Moment(instant: .seconds(12), wallMs: Recording.start + 12_000))
    let info = try #require(recorder.finished().first).info
    let gap = try #require(info.gaps.first)
    // It began 10 s before the speech, which is 1 s into the stream; the gap is 1 s behind that.
    #expect(abs(gap.start - 16_000) <= 480)
    #expect(abs(gap.samples - 48_000) <= 320)
    #expect(info.gaps.count == 1)
    #expect(abs(info.capture.unixMs - Recording.start - 1000) <= 40)
  }

  @Test("A pause of an hour ends the segment and is not filled") func aPauseOfAnHourIsNotFilled() throws {
    let folder = try folder()
    var recording = try Recording(folder)
    recording.play(frames: 500)
    recording.pass(.seconds(3600))
    recording.play(frames: 1000)
    recording.recorder.end(.shutdown, at: recording.moment)
    let segments = recording.recorder.finished()
    #expect(segments.map(\.info.closedBy) == [.linkLoss, .shutdown])
    #expect(segments.map(\.info.samples).reduce(0, +) == 240_000)
    #expect(segments.allSatisfy { $0.info.gaps.isEmpty })
  }

  /// Speech is kept with a second of what was before it.
  @Test("A segment of speech includes the pre-roll") func speechHasItsBeginning() throws {
    let folder = try folder()
    let rules = SegmentRules(mode: .speech, silence: .seconds(1))
    let recorder = try StreamRecorder(Recording.device, .pcm16k, framing: .bare, into: folder, rules: rules)
    let loud = voiceLikeSound(samples: 16_000, rate: 16_000)
    let quiet = [Int16](repeating: 3, count: 32_000)
    let sound = quiet + loud + quiet + quiet + loud + quiet
    for (index, start) in stride(from: 0, to: sound.count, by: 160).enumerated() {
      let frame = Recording.bytes(Array(sound[start..<(start + 160)]))
      let now = index * 10 + 10
      recorder.receive(frame, at: Moment(instant: .milliseconds(now), wallMs: Recording.start + Int64(now)))
    }
    let segments = recorder.finished()
    #expect(segments.map(\.info.closedBy) == [.silence, .silence])
    for (segment, start) in zip(segments, [16_000, 96_000]) {
      // Up to 20 ms of the first block are judged with what follows.
      let from = Int(segment.info.capture.unixMs - Recording.start) * 16
      #expect(abs(from - start) <= 480)
      #expect(try segment.samples() == Array(sound[from..<(from + segment.info.samples)]))
      #expect(abs(segment.info.samples - 48_000) < 8000)
      let speech = try #require(segment.info.speech.first)
      #expect(abs(speech.start - 16_000) <= 640)
      #expect(abs(speech.samples - 16_000) < 6400)
    }
    #expect(segments[1].info.previous?.closedBy == .silence)
  }

  /// Each step on the disk fails once, and all from every fourth step on until there is room again: with
  /// `EDGEBLUE_DISK_STEPS=all` from every step on. Whatever was kept is right, and what is missing is not hidden.
  @Test(
    "A fault at any step on the disk loses only the audio that the sidecars report as missing",
    arguments: [false, true]) func aFullDiskCostsOnlyWhatIsNotThere(_ lasts: Bool) throws
  {
    var steps = 0
    for (step, number) in DiskFaults.plan(every: lasts ? 4 : 1) {
      let faults = DiskFaults()
      try? FileManager.default.removeItem(atPath: temporary.path + "/recordings")
      let folder = try folder(faults.disk)
      faults.fail(step...(lasts ? .max : step), with: number)
      var recording = try Recording(folder, SegmentRules(maximum: .seconds(2)))
      recording.play(frames: 220)
      let reached = faults.steps >= step
      let stalls = recording.recorder.takeEvents().compactMap {
        if case .stalled(let error) = $0 { error } else { nil }
      }
      // It is said, and why.
      let code: AudioIngestError.Code = number == ENOSPC ? .noSpace : .storage
      try #require(stalls.isEmpty != reached, "step \(step): \(stalls)")
      try #require(stalls.allSatisfy { $0.code == code }, "step \(step): \(stalls)")
      faults.fail(nil, with: 0)
      recording.play(frames: 110)
      recording.recorder.end(.shutdown, at: recording.moment)
      _ = try folder.recover { Issue.record("step \(step): \($0)") }

      let catalog = try SegmentCatalog(path: folder.path)
      let lost = recording.sent - (try keptSamples(catalog, step))
      let told = catalog.entries.reduce(0) { $0 + ($1.segment.info.previous?.pause ?? 0) }
      let first = Double((catalog.entries.first?.segment.info.capture.unixMs ?? 0) - Recording.start) / 1000
      try #require(lasts || lost <= 40_000, "step \(step): \(lost) samples")
      try #require(abs(Double(lost) / 16_000 - told - first) < 1.1, "step \(step): \(lost), \(told), \(first)")
      if !reached { break }
      steps = step
    }
    print("a recorder's disk failed at up to step \(steps)")
    #expect(steps > 20)
  }

  /// Returns the number of samples in all segments, each of which must be complete and correct.
  private func keptSamples(_ catalog: SegmentCatalog, _ step: Int) throws -> Int {
    try #require(catalog.problems.isEmpty, "step \(step)")
    try #require(catalog.openCount == 0, "step \(step)")
    return try catalog.entries.reduce(0) { total, entry in
      try entry.segment.verify()
      let samples = try entry.segment.samples()
      let first = Int(samples[0])
      try #require(samples == Recording.ramp(first..<(first + samples.count)), "step \(step)")
      return total + samples.count
    }
  }
}
