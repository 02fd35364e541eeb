import AudioIngestTesting
import DurableFiles
import Foundation
import Streams
import SystemTesting
import Testing

@testable import AudioIngest

@Suite("Power cuts", .computing) struct PowerCutTests {
  let temporary: TemporaryFolder

  // In memory: what would be lost there is what this test takes away itself.
  init() throws { temporary = try TemporaryFolder(in: access("/dev/shm", W_OK) == 0 ? "/dev/shm" : nil) }

  @Test("A power cut loses at most one second") func aPowerCutCostsASecondAtMost() throws {
    let synced = Lock<[String: Int]>([:])
    let disk = Disk { step, path in
      if step == .sync { synced.withLock { $0[path] = Self.length(path) } }
      return nil
    }
    let path = temporary.path + "/recordings"
    let folder = try SegmentFolder(path: path, limits: .init(reserve: 0), disk: disk)
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(3)))
    var most = 0
    for cut in 1...120 {
      // Of 10 ms each, so that it is cut at every moment between two syncs.
      recording.play(frames: 7)
      let copy = temporary.path + "/\(cut)"
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      for name in try FileManager.default.contentsOfDirectory(atPath: path + "/open") {
        let length = synced.withLock { $0[path + "/open/" + name] }
        // What is replaced as a whole was synced under another name.
        guard let length, ["part", "log"].contains(URL(filePath: name).pathExtension) else { continue }
        try #require(truncate(copy + "/open/" + name, length) == 0)
      }
      let left = try SegmentFolder(path: copy, limits: .init(reserve: 0))
      _ = try left.recover { Issue.record("cut \(cut): \($0)") }
      let segments = try SegmentCatalog(path: copy).entries.map(\.segment)
      let samples = try segments.flatMap { try $0.samples() }
      #expect(samples == Recording.ramp(0..<samples.count), "cut \(cut)")
      most = max(most, recording.sent - samples.count)
      try FileManager.default.removeItem(atPath: copy)
    }
    #expect(most <= 16_000, "\(most) samples")
    #expect(most > 8000, "nothing was taken away")
    withExtendedLifetime(folder) {}
  }

  private static func length(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}
