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
}
