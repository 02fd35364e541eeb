import AudioIngest
import AudioIngestTesting
import BlueZTesting
import Btsnoop
import SystemTesting
import Testing

@testable import AudioWearables

/// The same recording of a wearable over the fake, and of the recording of one in the lab. The radio tests have it with
/// both over the air.
@Suite(
  "A recorded wearable", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .timeLimit(.minutes(5)))
struct RecordedWearableTests {
  private static let audio = OmiWearable.uuid(0x01).description
  private static let timing = WearableRecorder.StoredTiming(delay: .milliseconds(50))
  private let temporary: TemporaryFolder
  private let folder: SegmentFolder

  init() throws {
    temporary = try TemporaryFolder()
    folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0))
  }

  @Test("A wearable over the fake is kept") func original() async throws {
    let lab = try await FakeRadio()
    let wearable = try await WearableConversation.wearable(on: lab.adapters[0])
    let kept = try await WearableConversation.keep(
      lab.adapters[0].address, at: lab.adapters[1], into: folder, timing: Self.timing
    ) { try await WearableConversation.play(wearable) }
    #expect(kept == WearableConversation.sent)
    try await lab.stop()
  }

  @Test("The recording of a wearable is kept as the wearable was") func recorded() async throws {
    #expect(try await kept(of: .ofLab("wearable")) == WearableConversation.sent)
  }

  @Test("A changed sample of the recording is kept, too", arguments: [false, true])
  func changed(_ isStored: Bool) async throws {
    let wearable = try RecordedDevice.ofLab("wearable")
    let other =
      isStored
      ? wearable.sending(OmiWearable.Storage.control.description) { value in
        // Data of the ring that begins with the first record: a time, the length of a frame, and samples.
        if value.starts(with: [3, 0x6b, 0x02]) { value[20] ^= 0x40 }
      } : wearable.sending(Self.audio) { $0[$0.count - 1] ^= 0x40 }
    #expect(other != wearable)
    let kept = try await kept(of: other)
    #expect((kept.stored != WearableConversation.sent.stored) == isStored)
    #expect((kept.live != WearableConversation.sent.live) == !isStored)
  }

  @Test("A wearable that no longer reports its codec is not recorded") func refused() async throws {
    let codec = OmiWearable.uuid(0x02).description
    let other = try RecordedDevice.ofLab("wearable").answering(codec) { $0.error = ATTError(rawValue: 0x80) }
    let lab = try await FakeRadio(adapters: 1)
    let replayed = try await lab.fake.replay(other)
    let recorder = WearableRecorder(
      OmiWearable(), at: lab.adapters[0], address: replayed.address, into: folder, settings: .standing(StillTime()))
    let events = recorder.events()
    let running = Task { try await recorder.run() }
    for await event in events {
      if case .problem(let text) = event, text.contains("0x80") { break }
    }
    running.cancel()
    try await running.value
    #expect(try SegmentCatalog(path: folder.path).entries.isEmpty)
    try await lab.stop()
  }

  private func kept(of wearable: RecordedDevice) async throws -> WearableConversation.Kept {
    let lab = try await FakeRadio(adapters: 1)
    let replayed = try await lab.fake.replay(wearable)
    let kept = try await WearableConversation.keep(
      replayed.address, at: lab.adapters[0], into: folder, timing: Self.timing)
    try await lab.stop()
    return kept
  }
}
