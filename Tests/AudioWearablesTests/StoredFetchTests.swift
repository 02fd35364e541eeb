import AudioIngestTesting
import Foundation
import SystemTesting
import Testing
import Timing

@testable import AudioIngest
@testable import AudioWearables

/// A recorder that fetches what a wearable has stored, over a bluetoothd of the test's own. A ring on a stack nobody here
/// wrote is in the radio lab.
@Suite(
  "A recorder that fetches stored recordings, over a fake BlueZ",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct StoredFetchTests {
  private static let count = 250
  private let temporary: TemporaryFolder
  private let folder: SegmentFolder
  private let time = StillTime()

  init() throws {
    temporary = try TemporaryFolder()
    folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0))
  }

  private func recorder(_ lab: FakeRadio, fetchesStored: Bool = true) -> WearableRecorder {
    WearableRecorder(
      OmiWearable(), at: lab.adapters[1], into: folder,
      settings: .standing(
        time, fetchesStored: fetchesStored,
        timing: .init(delay: .milliseconds(50), interval: .milliseconds(300), retry: .milliseconds(300))))
  }

  private func store(_ format: StoredFormat) -> any FakeStore {
    // Five seconds, up to half a minute ago.
    let startMs = time.now.wallMs - 35_000
    return switch format {
    case .ring: FakeRing(records: (0..<Self.count).map { StoredSound.record($0, startMs: startMs) }, ring: 4)
    case .file: FakeFile(blocks: (0..<Self.count).map(StoredSound.block))
    }
  }

  private func backfilled() throws -> [FinishedSegment] {
    try SegmentCatalog(path: folder.path).entries.map(\.segment).filter { $0.info.backfill != nil }
  }

  /// The live stream goes on meanwhile, and each has its own segments.
  @Test("Stored audio is fetched beside the live stream", arguments: StoredFormat.allCases)
  func whatWasStoredIsFetchedBesideTheStream(_ format: StoredFormat)
    async throws
  {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0], codec: 1, storing: store(format))
    let recorder = recorder(lab)
    let events = recorder.events()
    let running = Task { try await recorder.run() }
    try await wearable.waitForSubscriber()
    try await wearable.send((0..<50).map { Self.liveFrame($0) })
    try await eventually("the stored audio is a segment") { try backfilled().count == 1 }
    try await wearable.send((50..<100).map { Self.liveFrame($0) })
    try await recorder.waitForNotifications(100)
    try await eventually("the transfer ends") { await recorder.status().stored?.isFetching == false }
    running.cancel()
    try await running.value

    let stored = try #require(try backfilled().first)
    #expect(try stored.samples() == StoredSound.samples(0..<Self.count))
    #expect(stored.info.backfill?.clock == (format == .ring ? .device : .estimated))
    // The ring's clock shows whole seconds; the file was filled when the link began.
    let age = Double(time.now.wallMs - stored.info.capture.unixMs) / 1000
    #expect(format == .ring ? abs(age - 35) < 1 : abs(age - 5) < 0.1, "\(age) s ago")
    #expect(wearable.store?.freed == (format == .ring ? Self.count : 1))
    let live = try SegmentCatalog(path: folder.path).entries.map(\.segment).filter { $0.info.backfill == nil }
    #expect(try live.flatMap { try $0.samples() } == (0..<100).flatMap { Recording.ramp($0 * 80..<($0 + 1) * 80) })
    var told: [StoredStatus] = []
    for await event in events { if case .stored(let status) = event { told.append(status) } }
    // On a busy machine a piece may be lost on the way, and be told once more.
    #expect(told.first?.isFetching == true)
    #expect(told.last?.isFetching == false)
    #expect(told.last?.counters.records ?? 0 >= Self.count)
    try await lab.stop()
  }

  /// The link goes in the middle of it: what is here is not fetched again.
  @Test(
    "A transfer continues after a lost connection without fetching a record twice", arguments: StoredFormat.allCases)
  func itGoesOnBehindALostLink(_ format: StoredFormat) async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0], codec: 1, storing: store(format))
    wearable.allow(format == .ring ? 300 : 150)
    let recorder = recorder(lab)
    let running = Task { try await recorder.run() }
    try await eventually("100 records are fetched") { await recorder.status().stored?.counters.records ?? 0 >= 100 }
    #expect(wearable.store?.freed ?? 0 <= 128)
    await lab.fake.adapters[1].loseConnections()
    try await eventually("the recorder waits") { await recorder.status().state == .waiting }
    wearable.allow(.max)
    try await eventually("all records are segments") {
      try backfilled().reduce(0) { $0 + $1.info.samples } == Self.count * StoredSound.samples
    }
    running.cancel()
    try await running.value
    #expect(try backfilled().flatMap { try $0.samples() } == StoredSound.samples(0..<Self.count))
    #expect(wearable.store?.freed == (format == .ring ? Self.count : 1))
    try await lab.stop()
  }

  @Test("Stored audio is not fetched if the settings exclude it") func itIsLeftToAnotherProgram() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0], codec: 1, storing: store(.ring))
    let recorder = recorder(lab, fetchesStored: false)
    let running = Task { try await recorder.run() }
    try await wearable.waitForSubscriber()
    try await wearable.send((0..<50).map { Self.liveFrame($0) })
    try await recorder.waitForNotifications(50)
    running.cancel()
    try await running.value
    #expect(try backfilled().isEmpty)
    #expect(wearable.store?.freed == 0)
    #expect(await recorder.status().stored == nil)
    try await lab.stop()
  }

  private static func liveFrame(_ index: Int) -> [UInt8] {
    Recording.bytes(Recording.ramp(index * 80..<(index + 1) * 80))
  }
}
