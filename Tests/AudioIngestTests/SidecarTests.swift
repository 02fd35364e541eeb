import AudioIngestTesting
import Foundation
import Testing

@testable import AudioIngest

@Suite("The JSON of a sidecar") struct SidecarTests {
  /// A sidecar that version 0.1.0 wrote for a segment received live.
  private static let live = """
    {
      "capturedAt" : "2026-11-22T00:45:03.000Z",
      "capturedAtMs" : 1795308303000,
      "closedBy" : "maximum",
      "codec" : "pcm16k",
      "device" : "00:AA:01:00:00:42",
      "deviceName" : "Omi",
      "duration" : 3,
      "gaps" : [

      ],
      "id" : 2,
      "localDate" : "2026-11-22",
      "missingSamples" : 0,
      "peak" : -0.6,
      "previous" : {
        "closedBy" : "maximum",
        "id" : 1,
        "pause" : 0
      },
      "rms" : -6.6,
      "sampleRate" : 16000,
      "samples" : 48000,
      "sha256" : "43ecf0945bb4f2d7ba71b49af514bb49c7825da0a954994f7031eb56af1fc47c",
      "speech" : [
        {
          "samples" : 11200,
          "start" : 0
        },
        {
          "samples" : 28160,
          "start" : 19840
        }
      ],
      "timeZone" : "Etc/UTC",
      "utcOffset" : 0,
      "version" : 1
    }
    """

  /// A sidecar of version 0.1.0 for a segment that a device had stored.
  private static let stored = """
    {
      "backfill" : {
        "clock" : "device",
        "fills" : [
          {
            "duration" : 12.5,
            "segment" : 4
          },
          {
            "duration" : 2,
            "segment" : 5,
            "start" : 1600
          }
        ]
      },
      "capturedAt" : "2026-11-22T00:45:00.000Z",
      "capturedAtMs" : 1795308300000,
      "closedBy" : "storeEnd",
      "codec" : "pcm8k",
      "device" : "00:AA:01:00:00:42",
      "deviceName" : "Omi",
      "duration" : 1.28,
      "gaps" : [

      ],
      "id" : 1,
      "localDate" : "2026-11-22",
      "missingSamples" : 0,
      "peak" : -10.1,
      "rms" : -14.9,
      "sampleRate" : 8000,
      "samples" : 10240,
      "sha256" : "990a5f53b4ea08dc261c91f890dbbe0a3e6d618f09089de979db00239ad8726c",
      "speech" : [
        {
          "samples" : 9760,
          "start" : 480
        }
      ],
      "timeZone" : "Etc/UTC",
      "utcOffset" : 0,
      "version" : 1
    }
    """

  @Test("A sidecar of version 0.1.0 is written byte for byte as it was", arguments: [live, stored])
  func aSidecarKeepsItsBytes(_ sidecar: String) throws {
    let info = try #require(SegmentJSON.info(Array(sidecar.utf8)))
    #expect(String(decoding: SegmentJSON.bytes(info, pretty: true), as: UTF8.self) == sidecar)
  }

  @Test("The values of a sidecar are grouped by meaning")
  func aSidecarIsGrouped() throws {
    let info = try #require(SegmentJSON.info(Array(Self.live.utf8)))
    #expect(info.capture.iso8601 == "2026-11-22T00:45:03.000Z")
    #expect(info.device == AudioDevice(address: "00:AA:01:00:00:42", name: "Omi"))
    #expect(info.measured.peak == -0.6)
    #expect(info.previous == .init(id: 1, closedBy: .maximum, pause: 0))
  }

  @Test(
    "A number that no recorder writes makes a sidecar a damaged one",
    arguments: [
      (#""sampleRate" : 8000"#, #""sampleRate" : 0"#), (#""sampleRate" : 8000"#, #""sampleRate" : 48000"#),
      (#""duration" : 1.28"#, #""duration" : 1e300"#), (#""duration" : 1.28"#, #""duration" : -1"#),
      (#""utcOffset" : 0"#, #""utcOffset" : 9223372036854775807"#), (#""id" : 1"#, #""id" : -1"#),
      (#""samples" : 10240"#, #""samples" : 4611686018427387904"#), (#""peak" : -10.1"#, #""peak" : 1e300"#),
      (#""rms" : -14.9"#, #""rms" : -1e300"#), (#""missingSamples" : 0"#, #""missingSamples" : -1"#),
      (#""version" : 1"#, #""version" : 2"#), ("1795308300000", "9223372036854775807"),
      (#""duration" : 12.5"#, #""duration" : 1e300"#), (#""segment" : 4"#, #""segment" : -4"#),
      (#""start" : 1600"#, #""start" : -1"#), (#""start" : 480"#, #""start" : -5"#),
      (#""samples" : 9760"#, #""samples" : 9223372036854775807"#), (#""samples" : 9760"#, #""samples" : 9761"#),
      ("[\n\n  ]", #"[{"start":0,"samples":10241,"concealed":0,"reason":"lost"}]"#),
      ("[\n\n  ]", #"[{"start":9,"samples":9,"concealed":10,"reason":"lost"}]"#),
      (#""rms""#, #""previous":{"closedBy":"maximum","id":1,"pause":1e300},"rms""#),
      (#""rms""#, #""previous":{"closedBy":"maximum","id":1,"pause":-1},"rms""#),
    ])
  func numbersAreChecked(_ field: String, _ changed: String) {
    let sidecar = Self.stored.replacing(field, with: changed)
    #expect(sidecar != Self.stored)
    #expect(SegmentJSON.info(Array(sidecar.utf8)) == nil)
  }

  @Test("A segment with a damaged sidecar is a problem, and the others are listed") func othersAreListed() throws {
    let temporary = try TemporaryFolder()
    let folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0))
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(2), quietSearch: .zero))
    recording.play(frames: 500)
    recording.recorder.end(.shutdown, at: recording.moment)
    let path = try SegmentCatalog(path: folder.path).entries[1].segment.path
    let sidecar = URL(filePath: path.dropLast(4) + ".json")
    let text = try String(contentsOf: sidecar, encoding: .utf8)
    try Data(text.replacing("\"utcOffset\" : 0", with: "\"utcOffset\" : 9e18").utf8).write(to: sidecar)
    let catalog = try SegmentCatalog(path: folder.path)
    #expect(catalog.entries.map(\.segment.info.id) == [1, 3])
    #expect(catalog.problems.map(\.code) == [.damagedFile])
  }

  @Test("A number of a file that would be the last one does not stop the recorder") func noNumberIsTheLast() throws {
    let temporary = try TemporaryFolder()
    try Data().write(to: URL(filePath: temporary.path + "/x-\(Int.max).wav"))
    try FileManager.default.createDirectory(atPath: temporary.path + "/open", withIntermediateDirectories: false)
    try Data("\(Int.max)".utf8).write(to: URL(filePath: temporary.path + "/open/next"))
    let folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0))
    #expect(try folder.begin(Recording.device, .pcm16k, capturedAtMs: 0, previous: nil).info.id == 1)
  }
}
