import AudioIngestTesting
import Foundation
import JSONValues
import Testing

@testable import AudioIngest
@testable import edgeblue

/// What the commands compute with the numbers of a sidecar, which a disk or somebody else may have changed.
@Suite(.timeLimit(.minutes(5))) struct SidecarNumbersTests {
  private let temporary: TemporaryFolder
  private let folder: String
  private let sidecar: URL

  /// Records two segments; the second one has gaps, speech, a pause before it, and fills a gap.
  init() throws {
    temporary = try TemporaryFolder()
    folder = temporary.path + "/recordings"
    var recording = try Recording(
      SegmentFolder(path: folder, limits: .init(reserve: 0)),
      SegmentRules(maximum: .seconds(2), quietSearch: .zero))
    recording.play(frames: 250)
    recording.lose(frames: 20)
    recording.play(frames: 30)
    recording.recorder.end(.shutdown, at: recording.moment)
    let path = try #require(try SegmentCatalog(path: folder).entries.last?.segment.path)
    sidecar = URL(filePath: path.dropLast(4) + ".json")
  }

  private func fields() throws -> [String: Any] {
    var fields = try #require(
      try JSONSerialization.jsonObject(with: Data(contentsOf: sidecar)) as? [String: Any])
    fields["speech"] = [["start": 0, "samples": 1600], ["start": 3200, "samples": 1600]]
    fields["backfill"] = [
      "clock": "device", "fills": [["segment": 1, "start": 3, "duration": 1.5], ["segment": 1, "duration": 2]],
    ]
    return fields
  }

  /// Returns copies of a value in which one number is another one.
  private static func variants(of value: Any, with other: Any) -> [Any] {
    if let object = value as? [String: Any] {
      return object.keys.sorted().flatMap { key -> [Any] in
        variants(of: object[key] ?? 0, with: other).map { object.merging([key: $0]) { $1 } }
      }
    }
    if let list = value as? [Any] {
      return list.indices.flatMap { index -> [Any] in
        variants(of: list[index], with: other).map { Array(list[..<index]) + [$0] + list[(index + 1)...] }
      }
    }
    return value is String ? [] : [other]
  }

  private static let numbers: [any Sendable] = [
    -1, 0, 1, -5, Int.max, Int.min, 1 << 62, 1 << 31, 1e300, -1e300, 0.5, 3_155_760_000,
  ]

  @Test("Whatever number a sidecar has, the commands list, show, draw, join and upload the segments that are sound")
  func anyNumber() throws {
    var sound = 0
    for number in Self.numbers {
      for changed in Self.variants(of: try fields(), with: number) {
        try JSONSerialization.data(withJSONObject: changed).write(to: sidecar)
        let catalog = try SegmentCatalog(path: folder)
        #expect(catalog.entries.count + catalog.problems.count == 2)
        #expect(catalog.entries.first?.segment.info.id == 1)
        try use(catalog)
        sound += catalog.entries.count - 1
      }
    }
    // Some of the numbers are as good as those that were there.
    #expect(sound > 0)
  }

  private func use(_ catalog: SegmentCatalog) throws {
    #expect(!catalog.lines.isEmpty)
    for segment in catalog.entries.map(\.segment) {
      let entry = SegmentCatalog.Entry(segment: segment, isDelivered: false)
      #expect(entry.lines(allGaps: true).count > 8)
      #expect(!JSONValue.object(segment.json).line.isEmpty)
      #expect(!segment.headline.isEmpty)
      let play = PlayInfo(segment, in: catalog)
      #expect(!play.lines.isEmpty)
      #expect(!JSONValue.object(play.json).line.isEmpty)
      #expect(SegmentPicture(segment.info, [1, 2, 3]).svg.hasSuffix("</svg>\n"))
      #expect(SpeechMetadata(segment.info).fields["speech-seconds"] != nil)
    }
    var options = SegmentExport.Options(format: .wav)
    options.replacesFiles = true
    options.to = Recording.start + 4000
    do {
      _ = try SegmentExport(catalog, options).write(joinedTo: temporary.path + "/joined.wav")
    } catch let error as AudioIngestError {
      // A pause of a century is too long for a file, and a segment with another checksum is no longer itself.
      #expect([.invalidArgument, .damagedFile].contains(error.code))
    }
  }
}
