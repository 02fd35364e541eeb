import Testing

@testable import AudioIngest

@Suite("The order of segments in one recording") struct SegmentJoinTests {
  private static let device = AudioDevice(address: "FA:0B:00:00:00:01")

  /// A segment of seconds of audio at a time in seconds.
  private static func segment(
    _ id: Int, at start: Double, _ seconds: Double, after pause: Double? = nil, codec: AudioCodec = .pcm16k,
    change: (inout SegmentInfo) -> Void = { _ in }
  ) -> SegmentInfo {
    let previous = pause.map { SegmentInfo.Previous(id: id - 1, closedBy: .maximum, pause: $0) }
    var info = SegmentInfo(
      id: id, capturedAtMs: 1_795_308_300_000 + Int64(start * 1000), device: device, codec: codec, previous: previous)
    info.fit(to: Int(seconds * Double(codec.sampleRate)))
    change(&info)
    return info
  }

  private static func pieces(_ segments: [SegmentInfo], keepsPauses: Bool = true) throws -> [SegmentJoin.Piece] {
    try SegmentJoin(segments, segments.map { 0..<$0.samples }).pieces(keepsPauses: keepsPauses)
  }

  @Test("Segments without a pause follow each other to the sample, whatever the wall clock says")
  func segmentsFollowEachOther() throws {
    let segments = [
      Self.segment(1, at: 0, 2), Self.segment(2, at: 2.013, 2, after: 0), Self.segment(3, at: 4.6, 1, after: 0.5),
    ]
    let expected: [SegmentJoin.Piece] = [
      .samples(0, 0..<32_000), .samples(1, 0..<32_000), .pause(8000), .samples(2, 0..<16_000),
    ]
    #expect(try Self.pieces(segments) == expected)
    #expect(try Self.pieces(segments, keepsPauses: false) == expected.filter { $0 != .pause(8000) })
  }

  @Test("A recording that began anew is placed by its capture time, and never before the end of the last one")
  func recordingsAreApart() throws {
    let later = [Self.segment(1, at: 0, 2), Self.segment(2, at: 3.5, 1)]
    #expect(try Self.pieces(later) == [.samples(0, 0..<32_000), .pause(24_000), .samples(1, 0..<16_000)])
    // The clock was set back between them.
    let earlier = [Self.segment(1, at: 0, 2), Self.segment(2, at: 1.5, 1)]
    #expect(try Self.pieces(earlier) == [.samples(0, 0..<32_000), .samples(1, 0..<16_000)])
  }

  @Test("Stored audio takes the place of pauses and gaps, and not of what was heard")
  func storedAudioFillsWhatIsMissing() throws {
    let live = Self.segment(1, at: 0, 4) {
      $0.gaps = [AudioGap(start: 16_000, samples: 16_000, reason: .lost)]
    }
    let next = Self.segment(2, at: 8, 1, after: 4)
    // From 1.5 s to 6.5 s: half of the gap, 2 s that were heard, and most of the pause.
    let stored = Self.segment(3, at: 1.5, 5) { $0.backfill = .init(clock: .device, fills: []) }
    #expect(
      try Self.pieces([live, stored, next]) == [
        .samples(0, 0..<24_000), .samples(1, 0..<8000), .samples(0, 32_000..<64_000),
        .samples(1, 40_000..<80_000), .pause(24_000), .samples(2, 0..<16_000),
      ])
  }

  @Test("Stored audio alone is a recording") func storedAudioAlone() throws {
    let stored = [
      Self.segment(1, at: 0, 1) { $0.backfill = .init(clock: .estimated, fills: []) },
      Self.segment(2, at: 1, 1, after: 0) { $0.backfill = .init(clock: .estimated, fills: []) },
    ]
    #expect(try Self.pieces(stored) == [.samples(0, 0..<16_000), .samples(1, 0..<16_000)])
  }

  @Test("Segments of half the rate take their time") func ratesAreMixed() throws {
    let segments = [
      Self.segment(1, at: 0, 1, codec: .pcm8k), Self.segment(2, at: 1, 1, after: 0),
      Self.segment(3, at: 3, 1, after: 1, codec: .muLaw8k),
    ]
    #expect(
      try Self.pieces(segments) == [
        .samples(0, 0..<8000), .samples(1, 0..<16_000), .pause(16_000), .samples(2, 0..<8000),
      ])
  }

  @Test(
    "A time range selects the samples that were captured in it",
    arguments: [
      (-1000, 5000, 0..<32_000), (0, 2000, 0..<32_000), (500, 1500, 8000..<24_000), (1, 2, 16..<32),
      (2000, 3000, 32_000..<32_000), (-9, 0, 0..<0), (1999, .max, 31_984..<32_000),
    ] as [(Int64, Int64, Range<Int>)])
  func rangesOfTime(_ from: Int64, _ to: Int64, _ expected: Range<Int>) {
    let info = Self.segment(1, at: 0, 2)
    let start = info.capture.unixMs
    #expect(info.samples(from: start + from, to: to == .max ? to : start + to) == expected)
    #expect(info.samples(from: .min, to: .max) == 0..<32_000)
  }
}
