import AudioIngest
import AudioIngestTesting
import Foundation
import Streams
import Testing

@testable import AudioWearables

/// A wearable on our own GATT server, over bluetoothd and the air. Nothing is lost on its way, so that what is recorded is
/// what libopus hears, to the bit, whatever happens between the links.
extension RadioTests {
  @Suite(
    "A wearable of our own GATT server", .enabled(if: Radio.isThere, Radio.needed),
    .enabled(if: Radio.isLab, Radio.labNeeded))
  struct OwnWearable {
    private let temporary: TemporaryFolder
    private let folder: SegmentFolder
    private let time = StillTime()

    init() throws {
      temporary = try TemporaryFolder()
      folder = try SegmentFolder(path: temporary.path + "/recordings", limits: .init(reserve: 0))
    }

    /// Numbers pass their end and begin anew; bluetoothd is killed, and then the adapters are pulled.
    @Test(
      "The recording of our own server equals libopus's output bit for bit",
      .enabled(if: Speech.isThere, Speech.needed),
      .timeLimit(.minutes(5)))
    func whatOurOwnServerSaysIsRecordedToTheBit() async throws {
      let sound = try Speech.sound().withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
      let frames = Array(OpusEncoder(.opus20ms).frames(sound).prefix(150))
      let phone = try await Radio.adapter(Radio.phone)
      let mac = try await Radio.adapter(Radio.mac)
      let wearable = try await FakeWearable(on: phone, codec: 21)
      let recorder = WearableRecorder(
        OmiWearable(), at: mac, address: phone.address, into: folder, settings: .standing(time))
      let events = recorder.events()
      let running = Task { try await recorder.run() }

      try await streams(events)
      wearable.number(from: 65_500)
      try await play(frames[..<100], wearable, recorder)
      // It begins anew, and so does its encoder: the next frame follows no other.
      wearable.number(from: 0)
      try await play(frames[100...], wearable, recorder)
      for fault in [["bluetoothd", "kill"], ["controllers", "kill"]] {
        time.pass(.seconds(2))
        try await Radio.fault(fault[0], fault[1])
        try await Radio.fault(fault[0], "start")
        try await streams(events)
        try await play(frames[..<50], wearable, recorder)
      }
      let counters = try #require(await recorder.status().live).counters
      running.cancel()
      try await running.value

      expectOneReset(counters)
      #expect(abs((wearable.time ?? 0) - Int(time.now.wallMs / 1000)) <= 4)
      let catalog = try SegmentCatalog(path: folder.path)
      #expect(catalog.problems.isEmpty)
      #expect(catalog.openCount == 0)
      let segments = catalog.entries.map(\.segment)
      #expect(segments.map(\.info.closedBy) == [.linkLoss, .linkLoss, .shutdown])
      #expect(segments.allSatisfy { $0.info.gaps.isEmpty })
      try expectLibopusOutput(of: frames, in: segments)
      try await others(accept: segments)
      for adapter in [phone, mac] { adapter.session.close() }
    }

    private func others(accept segments: [FinishedSegment]) async throws {
      try #require(WAVReader.allAreInstalled, "\(WAVReader.allNeeded)")
      for segment in segments {
        try segment.verify()
        for reader in WAVReader.allCases { try await reader.accepts(segment.path, samples: segment.info.samples) }
      }
    }

    private func expectLibopusOutput(of frames: [[UInt8]], in segments: [FinishedSegment]) throws {
      let again = try Self.heard(frames[..<50])
      let heard = [try Self.heard(frames[..<100]) + Self.heard(frames[100...]), again, again]
      let kept = try segments.map { try $0.samples() }
      #expect(kept == heard)
    }

    private func expectOneReset(_ counters: StreamCounters) {
      #expect(counters.resets == 1)
      #expect(counters.lostFrames == 0)
      #expect(counters.duplicates == 0)
      #expect(counters.malformed == 0)
    }

    /// What libopus makes of frames that follow nothing.
    private static func heard(_ frames: ArraySlice<[UInt8]>) throws -> [Int16] {
      var samples: [Int16] = []
      let decoder = try AudioCodec.opus20ms.makeDecoder()
      for frame in frames { try decoder.decode(frame[...], into: &samples) }
      return samples
    }

    /// Waits until audio comes, or could.
    private func streams(_ events: BoundedStream<WearableRecorder.Event>) async throws {
      // Attempts that fail are a minute apart in the end.
      try await bounded(.seconds(280), "the stream") {
        for await event in events {
          if case .problem(let text) = event { print("the recorder:", text) }
          if event == .state(.streaming) { return }
        }
        throw TestTimeout(phase: "the recorder ended")
      }
    }

    /// Sends frames, no more at once than a socket has room for, until all of them were heard.
    private func play(
      _ frames: ArraySlice<[UInt8]>, _ wearable: FakeWearable, _ recorder: WearableRecorder
    ) async throws {
      var heard = await recorder.status().live?.counters.notifications ?? 0
      for start in stride(from: frames.startIndex, to: frames.endIndex, by: 50) {
        let some = Array(frames[start..<min(start + 50, frames.endIndex)])
        try await wearable.send(some)
        heard += some.count
        try await recorder.waitForNotifications(heard)
      }
    }
  }
}
