import Foundation
import JSONValues
import Testing

@testable import AudioIngest
@testable import edgeblue

@Suite("The commands for segments") struct SegmentsTests {
  private static func segment(_ change: (inout SegmentInfo) -> Void = { _ in }) throws -> FinishedSegment {
    var info = try RecordTests.info()
    change(&info)
    return FinishedSegment(info: info, path: "/r/it's.wav")
  }

  @Test("A picture shows waveform, gaps, speech and time") func aPictureShowsWhatIsThere() throws {
    let info = try Self.segment().info
    let samples = (0..<info.samples).map { $0 < 33_600 ? Int16(8000) : -4000 }
    let picture = try PictureElements(SegmentPicture(info, samples).svg)
    #expect(picture.text.contains("<Omi> & co"))
    #expect(picture.text.contains("01:45:00"))
    #expect(picture.text.contains("lost packets, 0.10 s in 1"))
    #expect(picture.text.contains("−12 dB"))
    // From second 2 to second 2.1 of 4.2, in a picture whose time goes from 64 to 1256.
    let band = try #require(picture.all.first { $0.attributes["fill-opacity"] == "0.32" }?.attributes)
    #expect(band["x"] == "631.6")
    #expect(band["width"] == "28.4")
    #expect(band["fill"] == "#d64545")
    let speech = try #require(picture.all.first { $0.attributes["fill"] == "#2a9d76" }?.attributes)
    #expect(speech["x"] == "347.8")
    #expect(speech["width"] == "567.6")
    // The first half is above the middle (204) by all that a quarter of full scale takes (8000 of 8192), the second
    // below it by half of that.
    let outline = try #require(
      picture.all.first { ($0.name, $0.attributes["fill"]) == ("path", "#8fbde3") }?.attributes["d"])
    let points = outline.dropFirst().dropLast().split(separator: "L").map {
      $0.split(separator: " ").compactMap { Double($0) }
    }
    #expect(points.count == 2 * 1192)
    #expect(points.allSatisfy { 64...1256 ~= $0[0] })
    #expect(points.allSatisfy { 92...316 ~= $0[1] })
    #expect(abs(points[300][1] - 94.65) < 0.1)
    #expect(abs(points[900][1] - 257.95) < 0.1)
  }

  @Test("A picture of almost no samples is valid", arguments: [0, 1, 7]) func aPictureOfNearlyNothing(_ samples: Int)
    throws
  {
    let info = try Self.segment {
      ($0.samples, $0.duration, $0.gaps, $0.speech) = (samples, Double(samples) / 16_000, [], [])
    }.info
    let picture = try PictureElements(SegmentPicture(info, [Int16](repeating: .min, count: samples)).svg)
    #expect(picture.text.contains("no gaps"))
    #expect(picture.text.contains("no speech"))
    #expect(!picture.all.contains { $0.attributes.values.contains { $0.contains("nan") || $0.contains("inf") } })
  }

  @Test("A waveform contains every sample") func aWaveformLeavesNothingOut() {
    let wave = Waveform([1, -5, 300, 2, 0, .min, .max], columns: 3)
    #expect(wave.columns.map { Int($0.high * 32_768) } == [1, 300, 32_767])
    #expect(wave.columns.map { Int($0.low * 32_768) } == [-5, 2, -32_768])
    #expect(wave.peak == 1)
    #expect(Waveform([], columns: 9).columns.isEmpty)
    #expect(Waveform([1], columns: 9).columns.count == 1)
  }

  @Test(
    "The marks of the time axis have round distances",
    arguments: [(0.05, 0.005), (4.2, 0.5), (60, 5), (180, 15), (3600, 300), (9000, 900)])
  func marksOfTimeAreRound(_ duration: Double, _ step: Double) {
    #expect(TimeAxis.step(for: duration, marks: 12) == max(step, 0.01))
  }

  @Test("All fields of a segment are printed") func allThatIsKnown() throws {
    let entry = SegmentCatalog.Entry(segment: try Self.segment(), isDelivered: true)
    #expect(
      entry.lines() == [
        "Segment    3, 20261122T004500.000Z-000003", "Recorded   2026-11-22 01:45:00 (Etc/UTC), 0:04.200",
        "Device     <Omi> & co, FA:0B:00:00:00:01",
        "Audio      Opus, 20 ms frames; WAV file: 16000 Hz, 16 bit, mono",
        "Level      −3.1 dB peak, −23.0 dB RMS", "Ended by   silence",
        "Previous   segment 2, ended by disconnect, 0:12.5 earlier", "Delivered  yes",
        "File       /r/it's.wav",
        "SHA-256    00", "State      corrupt: /r/it's.wav was changed since it was recorded",
        "Missing    0.100 s in 1 gap, 2.4 % of the segment",
        "           0:02.000  0.100 s  lost packets; 0.100 s of it concealed", "Speech     2.0 s in 1 stretch",
      ])
  }

  @Test("A stored recording names the gaps that it fills") func whatADeviceHadStoredSaysWhereItBelongs() throws {
    let segment = try Self.segment {
      $0.previous = nil
      $0.backfill = .init(
        clock: .device,
        fills: [
          .init(segment: 4, start: nil, duration: 12.5), .init(segment: 5, start: 1600, duration: 2),
        ])
    }
    let lines = SegmentCatalog.Entry(segment: segment, isDelivered: false).lines()
    #expect(
      lines[6..<9] == [
        "Stored     by the device while it was not connected; time from its clock",
        "           fills the pause of 0:12.5 before segment 4",
        "           fills a gap of 0:02.0 in segment 5",
      ])
    #expect(segment.headline == "segment 3, 0:04, stored by the device, 0.10 s missing")
    guard let json = segment.json["backfill"] else { return #expect(Bool(false), "no backfill") }
    #expect(json["clock"] == "device")
    #expect(segment.json["previous"] == .null)
    let gap: JSONValue = .object(["segment": 5, "start": 1600, "duration": .number(2.0)])
    guard case .array(let fills)? = json["fills"] else { return #expect(Bool(false), "no gaps") }
    #expect(fills.count == 2)
    #expect(fills[1] == gap)
  }

  @Test(
    "Bytes are printed with a fitting unit",
    arguments: [
      (0, "0 B"), (999, "999 B"), (1000, "1.0 KiB"), (10_240, "10 KiB"), (5_767_168, "5.5 MiB"), (8 << 30, "8.0 GiB"),
      (Int.max, "8388608 TiB"),
    ])
  func amountsOfBytes(_ count: Int, _ text: String) { #expect(Amounts.bytes(count) == text) }

  @Test("Durations, times of day and numbers are formatted") func timesAndNumbers() {
    #expect([0, 7.9, 754, 3723].map { Amounts.clock($0) } == ["0:00", "0:07", "12:34", "1:02:03"])
    #expect(Amounts.clock(59.9996, digits: 3) == "1:00.000")
    #expect(Amounts.clock(-1) == "0:00")
    #expect([-1, 0, 86_400 * 3 + 3723].map { Amounts.timeOfDay($0) } == ["23:59:59", "00:00:00", "01:02:03"])
    #expect(Amounts.timeOfDay(86_399.9996, digits: 3) == "00:00:00.000")
    #expect(
      [(-0.04, 1), (-23.05, 1), (1.006, 2), (12.5, 0)].map { Amounts.fixed($0, $1) } == ["0.0", "−23.1", "1.01", "13"])
  }
}
