import AudioIngest
import AudioIngestTesting
import BlueZ
import BlueZTesting
import EdgeCoder
import EdgeCoderTesting
import Foundation
import Testing

/// The devices of `Tests/BtsnoopTests/Recordings`, of which the tests named `original…` are recorded, and their recordings
/// over the air. Both pass the same tests, and a recording with another answer does not.
extension RadioTests {
  @Suite("Devices and their recordings over the air", .enabled(if: Command.isBuilt, Command.needed))
  struct RecordedDevices {
    // MARK: The phone

    @Test("A phone answers the central", .timeLimit(.minutes(5))) func originalPhone() async throws {
      let central = try await Radio.adapter(Radio.mac)
      try await withPhone(on: Radio.phone, engine: EchoEngine()) { _ in
        let replies = try await PhoneConversation.hold(at: central)
        #expect(replies == PhoneConversation.replies)
      }
      central.session.close()
    }

    @Test("The recording of a phone answers the central", .replayed, .timeLimit(.minutes(5)))
    func phone() async throws {
      try await replaying("phone") { central, _ in
        let replies = try await PhoneConversation.hold(at: central)
        #expect(replies == PhoneConversation.replies)
      }
    }

    // MARK: The wearable

    @Test("A wearable is recorded", .timeLimit(.minutes(5))) func originalWearable() async throws {
      let peripheral = try await Radio.adapter(Radio.phone)
      let central = try await Radio.adapter(Radio.mac)
      let wearable = try await WearableConversation.wearable(on: peripheral)
      // For the recording: which of two services with one UUID the recorder reads is bluetoothd's choice.
      _ = try await inspected(peripheral.address, at: central)
      try await expectAllKept(of: peripheral.address, at: central) { try await WearableConversation.play(wearable) }
      for adapter in [central, peripheral] { adapter.session.close() }
    }

    @Test("The recording of a wearable is recorded", .replayed, .timeLimit(.minutes(5)))
    func wearable() async throws {
      try await replaying("wearable") { central, address in try await expectAllKept(of: address, at: central) }
    }

    private func expectAllKept(
      of address: BluetoothAddress, at central: Adapter, whenReady: () async throws -> Void = {}
    ) async throws {
      let temporary = try TemporaryFolder()
      let folder = try SegmentFolder(path: temporary.path, limits: .init(reserve: 0))
      let kept = try await WearableConversation.keep(address, at: central, into: folder, whenReady: whenReady)
      #expect(kept == WearableConversation.sent)
    }

    // MARK: The heart-rate sensor

    @Test("A heart-rate sensor is inspected and beats", .timeLimit(.minutes(5))) func originalPulse() async throws {
      let pulse = Pulse()
      try await serving(pulse.services, as: "Pulse") { central, address in
        let beating = Task { try await pulse.beat() }
        try await beats(address, at: central)
        beating.cancel()
        await #expect(throws: CancellationError.self) { try await beating.value }
      }
    }

    @Test("The recording of a heart-rate sensor is inspected and beats", .replayed, .timeLimit(.minutes(5)))
    func pulse() async throws {
      try await replaying("pulse") { central, address in try await beats(address, at: central) }
    }

    private func beats(_ address: BluetoothAddress, at central: Adapter) async throws {
      try await expectInspection("pulse", of: address, at: central)
      let course = try await connected(to: address, at: central) { try await Pulse.hold(with: $0) }
      #expect(course == Pulse.course)
    }

    // MARK: The strongbox

    @Test("A strongbox is inspected, and opens for a paired central", .timeLimit(.minutes(5)))
    func originalStrongbox() async throws {
      try await serving(Strongbox().services, as: "Strongbox") { central, address in
        try await opens(address, at: central)
      }
    }

    @Test(
      "The recording of a strongbox is inspected, and opens for a paired central", .replayed, .timeLimit(.minutes(5)))
    func strongbox() async throws {
      try await replaying("strongbox") { central, address in try await opens(address, at: central) }
    }

    private func opens(_ address: BluetoothAddress, at central: Adapter) async throws {
      try await expectInspection("strongbox", of: address, at: central)
      let (course, isBonded) = try await connected(to: address, at: central) { box in
        (try await Strongbox.hold(with: box), box.isBonded)
      }
      #expect(course == Strongbox.course)
      #expect(isBonded)
    }

    @Test("A recording with another secret is another strongbox", .replayed, .timeLimit(.minutes(5)))
    func changedStrongbox() async throws {
      try await replaying("strongbox", with: ("only for friends", "only for fiends!")) { central, address in
        let course = try await connected(to: address, at: central) { try await Strongbox.hold(with: $0) }
        #expect(course != Strongbox.course)
        let found = try await inspected(address, at: central)
        #expect(try !found.isSuperset(of: expected("strongbox")))
      }
    }
  }
}

extension RadioTests.RecordedDevices {
  private static let recordings = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../BtsnoopTests/Recordings").standardized

  /// Serves a device on the phone's adapter, which the other one does not know yet.
  private func serving(
    _ services: [LocalService], as name: String, _ body: (Adapter, BluetoothAddress) async throws -> Void
  ) async throws {
    let peripheral = try await Radio.adapter(Radio.phone)
    let central = try await Radio.adapter(Radio.mac)
    for (adapter, peer) in [(central, peripheral.address), (peripheral, central.address)] {
      try await adapter.device(peer)?.remove()
    }
    let agent = try await peripheral.session.register(PairingAgent(authorizePairing: { _ in true }))
    let window = try await peripheral.openPairingWindow(for: .seconds(240))
    let application = try await peripheral.offer(services)
    let advertisement = try await peripheral.advertise(.init(name: name, services: [services[0].uuid]))
    try await body(central, peripheral.address)
    try await advertisement.stop()
    try await application.unregister()
    try await window.close()
    try await agent.unregister()
    // A bond that only one of the two has kept would be in the way of other tests.
    for (adapter, peer) in [(central, peripheral.address), (peripheral, central.address)] {
      try await adapter.device(peer)?.remove()
    }
    for adapter in [central, peripheral] { adapter.session.close() }
  }

  /// Replays a device beside a controller for BlueZ.
  /// - Parameter change: A text in the recording, and the one that takes its place.
  private func replaying(
    _ name: String, with change: (String, String)? = nil, _ body: (Adapter, BluetoothAddress) async throws -> Void
  ) async throws {
    var file = Self.recordings.appending(path: name + ".btsnoop")
    if let (old, new) = change {
      var recording = try Data(contentsOf: file)
      while let place = recording.range(of: Data(old.utf8)) { recording.replaceSubrange(place, with: Data(new.utf8)) }
      file = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString).btsnoop")
      try recording.write(to: file)
    }
    let peer = try LabPeer("replay_peer.py", ["--timeout", "290", file.path])
    defer { peer.terminate() }
    let central = try await peer.adapter()
    let text = try await peer.next("advertising")["address"] as? String
    let address = try #require(text.flatMap { BluetoothAddress($0) })
    // Another peer with these addresses had other keys.
    try await central.device(address)?.remove()
    let agent = try await central.session.register(PairingAgent(authorizePairing: { _ in true }))
    try await body(central, address)
    try await agent.unregister()
    try await central.device(address)?.remove()
    central.session.close()
  }

  private func connected<Result>(
    to address: BluetoothAddress, at central: Adapter, _ body: (Device) async throws -> Result
  ) async throws -> Result {
    let device = try await central.find(address, timeout: .seconds(60))
    try await device.connect()
    let result = try await body(device)
    try await device.disconnect()
    return result
  }

  private func expectInspection(_ name: String, of address: BluetoothAddress, at central: Adapter) async throws {
    let found = try await inspected(address, at: central)
    #expect(try found.isSuperset(of: expected(name)), "\(found)")
  }

  /// The services that the command prints, without handles.
  private func inspected(_ address: BluetoothAddress, at central: Adapter) async throws -> Set<[String]> {
    let name = try #require(central.name)
    let process = try Subprocess(Command.path, ["inspect", "\(address)", "--adapter", name])
    return try await bounded(.seconds(120), "the inspection") {
      var lines: [String] = []
      for await line in process.lines { lines.append(line) }
      try #require(await process.status() == 0, "\(lines)")
      return Self.sections(lines)
    }
  }

  private func expected(_ name: String) throws -> Set<[String]> {
    let text = try String(contentsOf: Self.recordings.appending(path: name + ".txt"), encoding: .utf8)
    return Self.sections(text.components(separatedBy: "\n"))
  }

  private static func sections(_ lines: [String]) -> Set<[String]> {
    Set(lines.map { $0.replacing(#/  #[0-9a-f]{4}/#, with: "") }.split(separator: "").map(Array.init))
  }
}

extension Trait where Self == ConditionTrait {
  /// Needs the lab, for a peer that replays, and the command.
  fileprivate static var replayed: Self { .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded) }
}
