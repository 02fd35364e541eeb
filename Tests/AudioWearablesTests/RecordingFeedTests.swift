import AudioIngestTesting
import Foundation
import Testing

@testable import AudioIngest
@testable import AudioWearables

@Suite("The feed from a wearable to its recording") struct RecordingFeedTests {
  @Test("Packets of an unsupported codec are stored again after a full disk, and the failure is published once")
  func whatNobodyKnowsIsKeptAgain() async throws {
    let temporary = try TemporaryFolder()
    let faults = DiskFaults()
    let time = StillTime()
    let folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0), disk: faults.disk)
    let output = RecorderOutput()
    let events = output.subscribe(limit: 16)
    let feed = RecordingFeed(folder, .omi, SegmentRules(), now: { time.now }, output: output)
    #expect(try await feed.beginRaw())
    func send(_ byte: UInt8) async {
      await feed.receive([0, 0, 0, byte])
      await feed.tick()
      time.pass(.seconds(1))
    }
    await send(1)
    faults.fail(1...(.max), with: ENOSPC)
    for byte in UInt8(2)...4 { await send(byte) }
    #expect(try await !feed.beginRaw())
    faults.fail(nil, with: 0)
    for byte in UInt8(5)...6 { await send(byte) }
    await feed.end(.shutdown)
    let files = try FileManager.default.contentsOfDirectory(atPath: temporary.path).filter { $0.hasSuffix(".raw") }
    let kept = try files.sorted().map { name in
      try String(contentsOfFile: temporary.path + "/" + name, encoding: .utf8).split(separator: "\n").compactMap(\.last)
    }
    #expect(kept == [["1"], ["5", "6"]])
    #expect(events.received == 1)
  }
}
