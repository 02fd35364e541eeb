import AudioIngest
import AudioIngestTesting
import BlueZ
import Streams
import SystemTesting
import Testing

@testable import AudioWearables

/// Devices that pose as a wearable: nothing of them is recorded where the wearable has paired.
@Suite(
  "Devices that pose as a wearable",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct WearableAttacks {
  private let temporary: TemporaryFolder
  private let folder: SegmentFolder
  private let time = StillTime()

  init() throws {
    temporary = try TemporaryFolder()
    folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0))
  }

  /// A recorder that pairs. One bluetoothd has both ends, so the recorder's agent also answers for the wearable.
  private func recorder(
    _ lab: FakeRadio, wearablePairs: Bool = true, isEncrypted: Lock<Bool> = Lock(true), fetchesStored: Bool = true
  ) -> WearableRecorder {
    var settings = WearableRecorder.Settings.standing(
      time, fetchesStored: fetchesStored,
      timing: .init(delay: .milliseconds(50), interval: .milliseconds(300), retry: .milliseconds(300)))
    settings.pairs = true
    settings.pairingAgent = PairingAgent(authorizePairing: { _ in wearablePairs })
    settings.connections = { adapter in
      adapter.devices.filter(\.isConnected).compactMap { device in
        device.address.map {
          ConnectionInfo(
            address: $0, isEncrypted: device.isPaired && isEncrypted.withLock { $0 }, isCentral: true)
        }
      }
    }
    return WearableRecorder(
      OmiWearable(), at: lab.adapters[1], address: lab.adapters[0].address, into: folder, settings: settings)
  }

  /// Waits for a problem that contains a text; others, such as the end of the connection, may come before.
  private func waitForProblem(_ text: String, _ events: BoundedStream<WearableRecorder.Event>) async {
    for await event in events { if case .problem(let problem) = event, problem.contains(text) { return } }
    Issue.record("no problem was reported that contains: \(text)")
  }

  @Test("A wearable that pairs is recorded over encrypted connections, and over no other")
  func anUnencryptedConnectionIsNotRecorded() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    let isEncrypted = Lock(true)
    let recorder = recorder(lab, isEncrypted: isEncrypted)
    let events = recorder.events()
    let running = Task { try await recorder.run() }
    try await wearable.waitForSubscriber()
    #expect(try folder.wearables(of: OmiWearable()).map(\.protection) == [.paired])
    #expect(lab.adapters[1].bondedDevices.map(\.address) == [lab.adapters[0].address])

    // From now on somebody uses the address, and has no keys.
    isEncrypted.withLock { $0 = false }
    await lab.fake.adapters[1].loseConnections()
    await waitForProblem("is not encrypted: another device may use the address", events)
    #expect(await recorder.status().state != .streaming)
    running.cancel()
    try await running.value
    try await lab.stop()
  }

  @Test("A paired wearable whose bond is gone is not recorded")
  func aLostBondIsNotRecorded() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    let address = lab.adapters[0].address
    try folder.remember(RememberedWearable(address: address, protection: .paired), of: OmiWearable())
    let recorder = recorder(lab)
    let events = recorder.events()
    let running = Task { try await recorder.run() }
    await waitForProblem("the keys are gone from this host; nothing is recorded", events)
    running.cancel()
    try await running.value
    #expect(lab.adapters[1].bondedDevices.isEmpty)
    // The user chooses it again, and it pairs again.
    try folder.remember([address], of: OmiWearable())
    let second = self.recorder(lab)
    let again = Task { try await second.run() }
    try await wearable.waitForSubscriber()
    #expect(try folder.wearables(of: OmiWearable()).map(\.protection) == [.paired])
    again.cancel()
    try await again.value
    try await lab.stop()
  }

  @Test("What a paired wearable has stored is fetched over encrypted connections, and over no other")
  func storedRecordingsAreNotFetched() async throws {
    let lab = try await FakeRadio()
    let startMs = time.now.wallMs - 35_000
    let records = (0..<50).map { StoredSound.record($0, startMs: startMs) }
    let wearable = try await FakeWearable(on: lab.adapters[0], codec: 1, storing: FakeRing(records: records, ring: 4))
    let first = self.recorder(lab, fetchesStored: false)
    let pairing = Task { try await first.run() }
    try await wearable.waitForSubscriber()
    pairing.cancel()
    try await pairing.value
    #expect(try folder.wearables(of: OmiWearable()).map(\.protection) == [.paired])

    let isEncrypted = Lock(false)
    let recorder = self.recorder(lab, isEncrypted: isEncrypted)
    let events = recorder.events()
    let running = Task { try await recorder.run() }
    await waitForProblem("is not encrypted: another device may use the address", events)
    try await eventually { await recorder.status().state == .waiting || wearable.storeCommands > 0 }
    #expect(wearable.storeCommands == 0)
    isEncrypted.withLock { $0 = true }
    try await eventually { wearable.store?.freed == records.count }
    running.cancel()
    try await running.value
    try await lab.stop()
  }

  @Test("A wearable that does not pair is recorded with a warning at each start, and is asked once")
  func aWearableWithoutPairingIsReported() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    for pairsNow in [false, true] {
      // The second time it would pair, and is not asked.
      let recorder = recorder(lab, wearablePairs: pairsNow)
      let events = recorder.events()
      let running = Task { try await recorder.run() }
      await waitForProblem("does not pair: others in range can hear its audio", events)
      try await wearable.waitForSubscriber()
      running.cancel()
      try await running.value
      #expect(try folder.wearables(of: OmiWearable()).map(\.protection) == [.unpaired])
    }
    #expect(lab.adapters[1].bondedDevices.isEmpty)
    try await lab.stop()
  }

  @Test("The devices of a folder from before have an unknown protection, and a choice replaces one of its kind only")
  func theFileOfDevices() throws {
    let first = try #require(BluetoothAddress("FA:0B:00:00:00:01"))
    let second = try #require(BluetoothAddress("FA:0B:00:00:00:02"))
    let omi = OmiWearable()
    let line = "\(omi.audio.characteristic) \(first)\n"
    try folder.disk.replace(folder.paths.devices, with: Array(line.utf8), by: folder.paths.devices + ".new")
    #expect(try folder.wearables(of: omi) == [RememberedWearable(address: first)])
    let other = GenericWearable(service: "180a", characteristic: "2a29", framing: .bare, codec: .pcm8k)
    try folder.remember([second, first], of: other)
    try folder.remember(RememberedWearable(address: first, protection: .paired), of: other)
    #expect(try folder.wearables(of: other).map(\.protection) == [.unknown, .paired])
    try folder.remember([second], of: omi)
    #expect(try folder.wearables(of: omi).map(\.address) == [second])
    #expect(try folder.wearables(of: other).map(\.address) == [second, first])
  }
}
