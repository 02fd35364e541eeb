import AudioIngestTesting
import BlueZ
import Foundation
import Streams
import SystemTesting
import Testing
import Timing

@testable import AudioIngest
@testable import AudioWearables

/// Recorders over a bluetoothd of the test's own, which is restarted, and an adapter that is pulled. The wearables are of
/// this program, too; one on a stack nobody here wrote is in the radio lab.
@Suite(
  "Recorders over a fake BlueZ that restarts",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct WearableRecorderTests {
  private let temporary: TemporaryFolder
  private let folder: SegmentFolder
  private let time = StillTime()

  init() throws {
    temporary = try TemporaryFolder()
    folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0))
  }

  /// A restart of bluetoothd, or an adapter that goes and comes back, ends a segment, and the next one is begun.
  @Test("A recorder survives a restart of bluetoothd and a removed adapter", arguments: [false, true])
  func itSurvivesARestartAndALostAdapter(_ isPulled: Bool) async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    let recorder = WearableRecorder(OmiWearable(), at: lab.adapters[1], into: folder, settings: .standing(time))
    let running = Task { try await recorder.run() }
    for round in 0..<2 {
      try await wearable.waitForSubscriber()
      try await wearable.send(Self.frames((round * 100)..<(round * 100 + 100)))
      try await recorder.waitForNotifications(100 * (round + 1))
      guard round == 0 else { break }
      time.pass(.seconds(5))
      if isPulled {
        try await lab.fake.adapters[1].unplug()
        try await lab.fake.adapters[1].plugIn()
      } else {
        try await lab.fake.restart()
      }
      try await eventually("a segment is finished") { try SegmentCatalog(path: folder.path).entries.count == 1 }
    }
    running.cancel()
    try await running.value
    let segments = try SegmentCatalog(path: folder.path).entries.map(\.segment)
    #expect(segments.map(\.info.closedBy) == [.linkLoss, .shutdown])
    for (index, segment) in segments.enumerated() {
      #expect(try segment.samples() == Recording.ramp((index * 16_000)..<((index + 1) * 16_000)))
      #expect(index == 0 || abs((segment.info.previous?.pause ?? 0) - 4) < 0.1)
    }
    try await lab.stop()
  }

  /// Two wearables, each with a recorder of its own, in one folder; and each is known again by who did not name it.
  @Test("Several wearables are recorded into one folder at once") func severalAreRecordedAtOnce() async throws {
    let lab = try await FakeRadio(adapters: 3)
    let wearables = [try await FakeWearable(on: lab.adapters[0]), try await FakeWearable(on: lab.adapters[1])]
    let recorders = [0, 1].map { index in
      WearableRecorder(
        OmiWearable(), at: lab.adapters[2], address: lab.adapters[index].address, into: folder,
        settings: .standing(time))
    }
    let running = recorders.map { recorder in Task { try await recorder.run() } }
    for (index, wearable) in wearables.enumerated() {
      try await wearable.waitForSubscriber()
      try await wearable.send(Self.frames((index * 50)..<(index * 50 + 50)))
    }
    for recorder in recorders { try await recorder.waitForNotifications(50) }
    for task in running { task.cancel() }
    for task in running { try await task.value }
    let segments = try SegmentCatalog(path: folder.path).entries.map(\.segment)
    #expect(Set(segments.map(\.info.device.address)) == Set(lab.adapters[..<2].map(\.address.description)))
    for segment in segments {
      let index = segment.info.device.address == lab.adapters[0].address.description ? 0 : 1
      #expect(try segment.samples() == Recording.ramp((index * 8000)..<((index + 1) * 8000)))
    }
    try await lab.stop()
  }

  /// Who found a device once comes to it again, also when its neighbour is there first; unless it is forgotten.
  @Test("A recorder connects to the device of the last run until it is removed")
  func theDeviceOfTheLastTimeIsRemembered() async throws {
    let lab = try await FakeRadio(adapters: 3)
    let first = try await FakeWearable(on: lab.adapters[1])
    try await record(at: lab.adapters[2]) { try await first.waitForSubscriber() }
    let neighbour = try await FakeWearable(on: lab.adapters[0])
    #expect(try folder.wearables(of: OmiWearable()).map(\.address) == [lab.adapters[1].address])
    try await record(at: lab.adapters[2]) { try await first.waitForSubscriber() }
    try folder.remember([], of: OmiWearable())
    #expect(try folder.wearables(of: OmiWearable()).isEmpty)
    withExtendedLifetime(neighbour) {}
    try await lab.stop()
  }

  /// A codec that nobody knows is kept as it is; the next link may tell another one.
  @Test("Packets of an unsupported codec are stored undecoded") func aDeviceThatLiesIsKeptAsItIs() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0], codec: 99)
    let recorder = WearableRecorder(OmiWearable(), at: lab.adapters[1], into: folder, settings: .standing(time))
    let running = Task { try await recorder.run() }
    try await wearable.waitForSubscriber()
    try await wearable.send(Self.frames(0..<10))
    try await eventually("ten packets are stored") { try rawLines().count == 10 }
    #expect(try rawLines().allSatisfy { $0.split(separator: " ").last?.count == 2 * 323 })
    wearable.setCodec(0)
    await lab.fake.adapters[1].loseConnections()
    try await eventually("the codec is PCM") { await recorder.status().live?.codec == .pcm16k }
    try await wearable.waitForSubscriber()
    try await wearable.send(Self.frames(0..<10))
    try await recorder.waitForNotifications(10)
    running.cancel()
    try await running.value
    try await lab.stop()
  }

  /// Muted, a device is asked for its codec, and goes on with another one; on the next link it has the first one again.
  @Test("A change of codec ends a segment") func aChangeOfCodecEndsASegment() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0], codec: 20)
    let recorder = WearableRecorder(OmiWearable(), at: lab.adapters[1], into: folder, settings: .standing(time))
    let running = Task { try await recorder.run() }
    let frames = OpusEncoder(.opus10ms).frames(voiceLikeSound(samples: 16_000, rate: 16_000))
    let decoded = try Self.decoded(frames)
    try await wearable.waitForSubscriber()
    try await wearable.send(frames)
    try await recorder.waitForNotifications(100)

    wearable.setCodec(1)
    let pause = try await passTime(untilCodecIs: .pcm8k, recorder)
    let samples = Recording.ramp(0..<8000)
    try await wearable.send((0..<100).map { Recording.bytes(Array(samples[($0 * 80)..<($0 * 80 + 80)])) })
    try await recorder.waitForNotifications(100)

    wearable.setCodec(20)
    await lab.fake.adapters[1].loseConnections()
    try await eventually("the codec is Opus") { await recorder.status().live?.codec == .opus10ms }
    try await wearable.waitForSubscriber()
    try await wearable.send(frames)
    try await recorder.waitForNotifications(100)
    running.cancel()
    try await running.value
    let segments = try SegmentCatalog(path: folder.path).entries.map(\.segment)
    #expect(segments.map(\.info.closedBy) == [.codecChange, .linkLoss, .shutdown])
    #expect(segments.map(\.info.codec) == [.opus10ms, .pcm8k, .opus10ms])
    let kept = try segments.map { try $0.samples() }
    #expect(kept == [decoded, samples, decoded])
    #expect(segments.allSatisfy { $0.info.gaps.isEmpty })
    #expect(segments.map(\.info.previous?.id) == [nil, 1, 2])
    // The first one lasts a second.
    #expect(abs((segments[1].info.previous?.pause ?? 0) - pause.inSeconds + 1) < 0.1)
    try await lab.stop()
  }

  /// A device of the family that does not say who it is, as long as the link lasts.
  private struct Taciturn: Wearable {
    private let omi = OmiWearable()
    var advertisedServices: Set<BluetoothUUID> { omi.advertisedServices }
    var audio: (service: BluetoothUUID, characteristic: BluetoothUUID) { omi.audio }
    var framing: PacketFraming { omi.framing }
    func codec(of device: Device) async throws -> AudioCodec { try await omi.codec(of: device) }
    func profile(of device: Device) async throws -> WearableProfile {
      try await Task.sleep(for: .seconds(3600), clock: .steady)
      return WearableProfile()
    }
    func setClock(of device: Device, unixSeconds: UInt32) async throws {}
    func probe(_ device: Device) async throws -> AudioCodec? { try await omi.probe(device) }
  }

  /// A sink that accepts as slowly as a disk, or never.
  private struct Sink: SegmentSink {
    let accepted = Lock<[Int]>([])
    var accepts = true

    func take(_ segment: FinishedSegment) async throws {
      // As a queue in a database does it: nothing is written for a cancelled task.
      try Task.checkCancellation()
      if !accepts { try await Task.sleep(for: .seconds(3600), clock: .steady) }
      accepted.withLock { $0.append(segment.info.id) }
    }
  }

  /// What ends the recording finishes the last segment, often the only one.
  @Test("The last segment of a recording is passed to the sink") func theLastSegmentIsPassedOn() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    let sink = Sink()
    let recorder = WearableRecorder(
      OmiWearable(), at: lab.adapters[1], into: folder, settings: .standing(time), sink: sink)
    let running = Task { try await recorder.run() }
    try await wearable.waitForSubscriber()
    try await wearable.send(Self.frames(0..<100))
    try await recorder.waitForNotifications(100)
    running.cancel()
    try await running.value
    #expect(try SegmentCatalog(path: folder.path).entries.map(\.segment.info.id) == [1])
    #expect(sink.accepted.withLock { $0 } == [1])
    try await lab.stop()
  }

  @Test("A sink that accepts nothing does not keep a recorder from ending") func aStuckSinkEndsInTime() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    var settings = WearableRecorder.Settings.standing(time)
    settings.deliveryLimit = .milliseconds(50)
    let recorder = WearableRecorder(
      OmiWearable(), at: lab.adapters[1], into: folder, settings: settings, sink: Sink(accepts: false))
    let events = recorder.events()
    let running = Task { try await recorder.run() }
    try await wearable.waitForSubscriber()
    try await wearable.send(Self.frames(0..<100))
    try await recorder.waitForNotifications(100)
    running.cancel()
    try await running.value
    var problems: [String] = []
    for await event in events { if case .problem(let text) = event { problems.append(text) } }
    #expect(problems.contains { $0.hasPrefix("segment 1 was not passed on in time") })
    #expect(try SegmentCatalog(path: folder.path).entries.map(\.isDelivered) == [false])
    try await lab.stop()
  }

  /// What need not be known to keep audio is not waited for.
  @Test("Audio does not wait for the model") func audioDoesNotWaitForTheModel() async throws {
    let lab = try await FakeRadio()
    let wearable = try await FakeWearable(on: lab.adapters[0])
    let recorder = WearableRecorder(Taciturn(), at: lab.adapters[1], into: folder, settings: .standing(time))
    let running = Task { try await recorder.run() }
    try await wearable.waitForSubscriber()
    try await wearable.send(Self.frames(0..<10))
    try await recorder.waitForNotifications(10)
    running.cancel()
    try await running.value
    try await lab.stop()
  }

  // MARK: Helpers

  /// Passes time until a recorder has probed its device and found another codec; returns the time passed.
  private func passTime(untilCodecIs codec: AudioCodec, _ recorder: WearableRecorder) async throws -> Duration {
    // The last frame may still be counted as a sign of life when the time has passed.
    var pause = Duration.zero
    while await recorder.status().live?.codec != codec {
      time.pass(ConnectionMachine.quiet)
      pause += ConnectionMachine.quiet
      try await Task.sleep(for: .milliseconds(100), clock: .steady)
    }
    return pause
  }

  private static func decoded(_ frames: [[UInt8]]) throws -> [Int16] {
    var samples: [Int16] = []
    let decoder = try AudioCodec.opus10ms.makeDecoder()
    for frame in frames { try decoder.decode(frame[...], into: &samples) }
    return samples
  }

  private static func frames(_ range: Range<Int>) -> [[UInt8]] {
    range.map { Recording.bytes(Recording.ramp(($0 * 160)..<(($0 + 1) * 160))) }
  }

  private func record(at adapter: Adapter, until isDone: () async throws -> Void) async throws {
    let recorder = WearableRecorder(OmiWearable(), at: adapter, into: folder, settings: .standing(time))
    let running = Task { try await recorder.run() }
    try await isDone()
    try await eventually("audio arrives") { await recorder.status().state == .streaming }
    running.cancel()
    try await running.value
  }

  private func rawLines() throws -> [Substring] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".raw") }
    return try names.flatMap {
      try String(contentsOfFile: folder.path + "/" + $0, encoding: .utf8).split(separator: "\n")
    }
  }
}
