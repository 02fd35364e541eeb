import AudioIngest
import AudioIngestTesting
import BlueZ
import Foundation
import Testing

@testable import AudioWearables

/// A folder whose list of wearables was damaged: one that has paired must not become one that may pair again.
@Suite("Corrupt lists of wearables") struct CorruptionAttacks {
  @Test(
    "A damaged list of wearables is an error, and stays as it is",
    arguments: ["KIND ADDRESS pair", "KIND ADDRESS paired more", "KIND", "ADDRESS KIND paired", "\u{0}", "{}"])
  func damageIsReported(line: String) throws {
    let temporary = try TemporaryFolder()
    let folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0))
    let address = try #require(BluetoothAddress("00:AA:01:00:00:42"))
    let kind = OmiWearable()
    try folder.remember(RememberedWearable(address: address, protection: .paired), of: kind)
    #expect(try folder.wearables(of: kind).map(\.protection) == [.paired])
    let path = folder.paths.devices
    let whole = try String(contentsOfFile: path, encoding: .utf8)
    let damaged =
      whole
      + line.replacing("KIND", with: "\(kind.audio.characteristic)").replacing("ADDRESS", with: "00:AA:01:00:00:43")
      + "\n"
    try Data(damaged.utf8).write(to: URL(filePath: path))
    #expect(throws: AudioIngestError.self) { try folder.wearables(of: kind) }
    let error = #expect(throws: AudioIngestError.self) { try folder.remember([address], of: kind) }
    #expect(error?.code == .damagedFile)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == damaged)
  }
}
