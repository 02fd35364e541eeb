import Foundation
import FoundationXML
import Testing

@testable import AudioIngest
@testable import edgeblue

@Suite("Gaps and clipping for display") struct SegmentGapsTests {
  /// A segment of three minutes with a gap of 20 ms every 300 ms in its second minute, and one of 2 s at its end.
  private static func segment() throws -> SegmentInfo {
    var info = try RecordTests.info()
    info.samples = 180 * 16_000
    info.duration = 180
    info.gaps = (0..<200).map {
      AudioGap(start: 960_000 + $0 * 4800, samples: 320, concealed: 320, reason: .lost)
    }
    info.gaps.append(AudioGap(start: 2_800_000, samples: 32_000, reason: .unsent))
    info.missingSamples = 96_000
    return info
  }

  @Test("Gaps are summed up before they are listed") func gapsAreSummedUp() throws {
    let summary = GapSummary(try Self.segment())
    #expect(
      summary.lines == [
        "6.000 s in 201 gaps, 3.3 % of the segment", "lost packets: 4.000 s in 200 gaps",
        "not sent: 2.000 s in 1 gap", "longest: 2.000 s at 2:55.000",
      ])
    let list = summary.list(all: false)
    #expect(list.count == 21)
    #expect(list.first == "the 20 longest, in order; --all lists every gap")
    #expect(list.last == "2:55.000  2.000 s  not sent")
    #expect(summary.list(all: true).count == 201)
  }

  @Test("The ten seconds in which most is missing are named") func theWorstPlaceIsNamed() throws {
    var info = try Self.segment()
    info.gaps = [0, 40, 41, 42, 90].map { AudioGap(start: $0 * 16_000, samples: 8000, reason: .lost) }
    #expect(GapSummary(info).lines.last == "worst: 1.500 s within 10 s from 0:40.000")
    info.gaps = []
    #expect(GapSummary(info).lines == ["none"])
    #expect(GapSummary(info).list(all: true) == [])
  }

  @Test("Every line of the lists fits 80 columns") func everyLineFits() throws {
    var info = try Self.segment()
    info.device = AudioDevice(address: "FA:0B:00:00:00:01", name: "The wearable of the workshop on the second floor")
    info.capture.timeZone = "America/Argentina/ComodRivadavia"
    info.measured.sha256 = String(repeating: "f", count: 64)
    info.closedBy = .codecChange
    let segment = FinishedSegment(info: info, path: "/r/a.wav")
    let entry = SegmentCatalog.Entry(segment: segment, isDelivered: false)
    #expect(entry.lines(allGaps: true).filter { $0.count > 80 } == [])
    #expect(SegmentCatalog.heading.count <= 80)
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: info.name).path
    try Data(SegmentJSON.bytes(info, pretty: true)).write(to: URL(filePath: path + ".json"))
    try Data().write(to: URL(filePath: path + ".wav"))
    let catalog = try SegmentCatalog(path: folder.path)
    #expect(catalog.lines.map(\.count).allSatisfy { $0 <= 80 })
    #expect(catalog.lines.count == 2)
    #expect(PlayInfo(segment, in: catalog).lines.filter { $0.count > 80 } == [])
  }

  @Test("Gaps closer than a pixel are one band, as pale as they are short") func closeGapsAreOneBand() throws {
    var info = try Self.segment()
    // Every 100 ms: two thirds of a pixel.
    info.gaps = (0..<600).map { AudioGap(start: 960_000 + $0 * 1600, samples: 320, reason: .lost) }
    info.gaps.append(AudioGap(start: 2_400_000, samples: 320, reason: .damaged))
    let picture = try PictureElements(SegmentPicture(info, [Int16](repeating: 0, count: info.samples)).svg)
    let bands = picture.all.filter { $0.attributes["fill-opacity"] != nil }.map(\.attributes)
    #expect(bands.map { $0["fill"] } == ["#d64545", "#8e44ad"])
    // A fifth of the minute is missing; 0.32 is a gap.
    #expect(bands.map { $0["fill-opacity"] } == ["0.08", "0.32"])
    #expect(bands.map { $0["width"] }.last == "2")
    #expect(picture.text.contains("12.00 s"))
  }

  @Test("A picture marks clipped samples") func clippingIsMarked() throws {
    var info = try Self.segment()
    info.gaps = []
    var samples = [Int16](repeating: 1000, count: info.samples)
    samples.replaceSubrange(1_440_000..<1_440_010, with: repeatElement(.max, count: 10))
    samples.replaceSubrange(100..<102, with: [.min, .min])
    let wave = Waveform(samples, columns: 1192)
    #expect(wave.clippings == 1)
    #expect(wave.clippedColumns == [596..<597])
    let picture = try PictureElements(SegmentPicture(info, samples).svg)
    #expect(picture.text.contains("clipped in 1 place"))
    let marks = picture.all.map(\.attributes).filter { $0["fill"] == SegmentPicture.clipping && $0["height"] == "5" }
    #expect(marks.map { $0["x"] } == ["660", "660"])
    #expect(marks.map { $0["y"] } == ["92", "311"])
    #expect(Waveform([.max, .max, .max, .min, .min, .min], columns: 3).clippedColumns == [0..<3])
  }
}

/// What there is to see of a picture: its elements with their attributes, and its text.
final class PictureElements: NSObject, XMLParserDelegate {
  var all: [(name: String, attributes: [String: String])] = []
  var text = ""

  init(_ svg: String) throws {
    super.init()
    let parser = XMLParser(data: Data(svg.utf8))
    parser.delegate = self
    try #require(parser.parse(), "\(String(describing: parser.parserError))")
  }

  func parser(
    _: XMLParser, didStartElement name: String, namespaceURI _: String?, qualifiedName _: String?,
    attributes: [String: String]
  ) { all.append((name, attributes)) }

  func parser(_: XMLParser, foundCharacters characters: String) { text += characters }
}
