import AudioIngestTesting
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("The timeline of stored recordings", .computing) struct StoredTimelineTests {
  private let timeline = StoredTimeline(sampleRate: 16_000)
  /// 2026-11-22 00:45:00 UTC, and a part of a second that no stamp shows.
  private let start: Int64 = 1_795_308_300_370

  /// Records of 0.1 s, stamped when they were full.
  private func records(_ count: Int, startMs: Int64) -> [StoredTimeline.Record] {
    (1...count).map { .init(stamp: .unix(Int((startMs + Int64($0) * 100) / 1000)), samples: 1600) }
  }

  @Test("Many times in whole seconds give an accurate start") func manyWholeSecondsMakeATime() throws {
    let run = try #require(timeline.runs(records(100, startMs: start), latestMs: 0).first)
    #expect(run.records == 0..<100)
    #expect(run.clock == .device)
    #expect(abs(run.startMs - start) <= 100)
    // One alone is right to a second.
    let single = try #require(timeline.runs(records(1, startMs: start), latestMs: 0).first)
    #expect(abs(single.startMs - start) <= 1000)
  }

  /// What was fetched before goes on to the sample, unless there was a pause.
  @Test("A run continues at the end of the one before") func aRunGoesOnBehindTheOneBefore() {
    let few = records(3, startMs: start)
    #expect(timeline.runs(few, follows: start + 7, latestMs: 0).map(\.startMs) == [start + 7])
    #expect(timeline.runs(few, follows: start - 60_000, latestMs: 0) == timeline.runs(few, latestMs: 0))
    let blocks = [StoredTimeline.Record](repeating: .init(stamp: nil, samples: 1600), count: 10)
    let anchors = [StoredTimeline.Anchor(until: 5, atMs: start), .init(until: 10, atMs: start + 9000)]
    let runs = timeline.runs(blocks, anchors: anchors, follows: start - 600, latestMs: 0)
    #expect(runs.map(\.startMs) == [start - 600, start + 8500])
  }

  @Test("A pause ends a run") func aPauseEndsARun() {
    let later = start + 10_000 + 60_000
    let runs = timeline.runs(records(100, startMs: start) + records(50, startMs: later), latestMs: 0)
    #expect(runs.map(\.records) == [0..<100, 100..<150])
    #expect(abs(runs[1].startMs - later) <= 100)
    // The clock was set back.
    let earlier = timeline.runs(records(100, startMs: start) + records(50, startMs: start - 60_000), latestMs: 0)
    #expect(earlier.map(\.records) == [0..<100, 100..<150])
    #expect(abs(earlier[1].startMs - start + 60_000) <= 100)
  }

  /// An hour of a device whose sound is 100 ppm too fast or too slow is one run.
  @Test("Clocks that drift apart cause no pause", arguments: [-100, 100]) func clocksThatDriftApartAreNoPause(
    _ partsPerMillion: Int64
  ) {
    let records = (1...36_000).map { index in
      let ms = Int64(index) * 100 * (1_000_000 + partsPerMillion) / 1_000_000
      return StoredTimeline.Record(stamp: .unix(Int((start + ms) / 1000)), samples: 1600)
    }
    let runs = timeline.runs(records, latestMs: 0)
    #expect(runs.count == 1)
    #expect(abs(runs[0].startMs - start) <= 500)
  }

  /// What was stored before anybody told the device the time lies before what was stored after that.
  @Test("Records with an uptime are placed before the first record with a time")
  func anUptimeIsPlacedBeforeTheFirstTime() {
    func uptimes(_ range: ClosedRange<Int>) -> [StoredTimeline.Record] {
      range.map { .init(stamp: .uptime($0 / 10), samples: 1600) }
    }
    let records = uptimes(101...200) + uptimes(801...900) + records(50, startMs: start)
    let runs = timeline.runs(records, latestMs: start + 60_000)
    #expect(runs.map(\.records) == [0..<100, 100..<200, 200..<250])
    #expect(runs.map(\.clock) == [.estimated, .estimated, .device])
    #expect(abs(runs[1].startMs + 10_000 - runs[2].startMs) <= 1)
    // Between the two were 60 s.
    #expect(abs(runs[1].startMs - runs[0].startMs - 70_000) <= 200)
    // With nothing behind them they end before the link began.
    let alone = timeline.runs(uptimes(1...100), latestMs: start)
    #expect(alone.map(\.startMs) == [start - 10_000])
  }

  @Test("Blocks without a time end at the next connection") func blocksWithoutATimeEndWhereSomebodyListened() {
    let blocks = [StoredTimeline.Record](repeating: .init(stamp: nil, samples: 1600), count: 100)
    let runs = timeline.runs(
      blocks, anchors: [.init(until: 40, atMs: start), .init(until: 100, atMs: start + 90_000)], latestMs: 0)
    #expect(runs.map(\.records) == [0..<40, 40..<100])
    #expect(runs.map(\.startMs) == [start - 4000, start + 84_000])
    #expect(runs.allSatisfy { $0.clock == .estimated })
    // Half of the second stretch is still on the device, and lasts about as long.
    let half = timeline.runs(
      Array(blocks[..<70]), anchors: [.init(until: 40, atMs: start), .init(until: 100, atMs: start + 90_000)],
      latestMs: 0)
    #expect(half.map(\.startMs) == [start - 4000, start + 84_000])
    #expect(half[1].records == 40..<70)
    #expect(timeline.runs(blocks, latestMs: start).map(\.startMs) == [start - 10_000])
    #expect(timeline.runs([], latestMs: start).isEmpty)
  }

  @Test("A stored segment names exactly the gaps that it overlaps") func whatAStretchFills() {
    func segment(_ id: Int, _ startSeconds: Int64, _ seconds: Int, gaps: [AudioGap] = []) -> SegmentInfo {
      var info = SegmentInfo(
        id: id, capturedAtMs: start + startSeconds * 1000, device: Recording.device, codec: .pcm16k, previous: nil)
      info.gaps = gaps
      info.samples = seconds * 16_000
      return info
    }
    let hole = AudioGap(start: 16_000, samples: 32_000, reason: .unsent)
    let short = AudioGap(start: 64_000, samples: 1600, reason: .lost)
    let heard = [segment(1, 0, 60), segment(2, 60, 60), segment(3, 300, 10, gaps: [hole, short])]
    func fills(_ from: Int64, _ seconds: Int) -> [SegmentInfo.Backfill.Gap] {
      SegmentInfo.Backfill.gaps(filledBy: segment(9, from, seconds), in: heard)
    }
    #expect(fills(121, 100) == [.init(segment: 3, start: nil, duration: 180)])
    #expect(fills(301, 2) == [.init(segment: 3, start: 16_000, duration: 2)])
    #expect(fills(250, 60).map(\.start) == [nil, 16_000])
    #expect(fills(10, 20).isEmpty)
    #expect(fills(-50, 20).isEmpty)
    #expect(fills(400, 20).isEmpty)
    // It is right to a second: what reaches a little into a segment fills no gap there.
    #expect(fills(119, 20).map(\.segment) == [3])
    #expect(fills(59, 2).isEmpty)
  }
}
