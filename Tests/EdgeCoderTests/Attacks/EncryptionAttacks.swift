import BlueZ
import EdgeCoderTesting
import Streams
import SystemTesting
import Testing

@testable import EdgeCoder

/// Devices that use the address of a paired one and have none of its keys: their connection is never encrypted.
@Suite("Paired devices without encryption", .timeLimit(.minutes(5))) struct EncryptionAttacks {
  private func characteristic(_ uuid: String, of device: Device) throws -> RemoteCharacteristic {
    try device.characteristic(
      BluetoothUUID(stringLiteral: uuid), in: BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service))
  }

  @Test(
    "A phone answers no read and takes no write over a connection that is not encrypted, over no bearer",
    arguments: FakeTrust.releases)
  func anUnencryptedCentralGetsNothing(release: BlueZRelease) async throws {
    let air = try await FakeTrust.start(release: release)
    let log = RecordingLog()
    let engine = CuriousEngine()
    let transport = try await air.phone(0, access: .encrypted(), bonds: air.bonds, links: [.gatt])
    let phone = PhoneService(transport: transport, engine: engine, logger: log.logger)
    try await running([phone.run]) {
      try await air.pair(1, with: 0)
      try air.admit(1, at: 0, as: .central)
      air.isEncrypted.withLock { $0 = false }
      let device = try await air.device(0, seenBy: 1)
      try await device.connect()
      for uuid in [EdgeCoderUUIDs.response, EdgeCoderUUIDs.status, EdgeCoderUUIDs.muxOffer] {
        await #expect(throws: BlueZError.self, "\(uuid)") { try await characteristic(uuid, of: device).read() }
      }
      await #expect(throws: BlueZError.self) {
        let request = Array(#"{"id":"1","prompt":"let me in"}"#.utf8)
        try await characteristic(EdgeCoderUUIDs.request, of: device).write(request)
      }
      try await eventually { log.lines.contains("did not encrypt the link") }
      #expect(await phone.snapshot().counters.requests == 0)

      air.isEncrypted.withLock { $0 = true }
      let central = try await air.central(1, access: .encrypted())
      try await running([central.run]) {
        try await central.waitUntilReady()
        #expect(try await central.generate(prompt: "hello", maxTokens: nil).answer.output == "hello")
        #expect(await central.status().phones.first?.linkBearer == .gatt)
      }
    }
    #expect(engine.prompts.withLock { $0 } == ["hello"])
    try await transport.stop()
    try await air.stop()
  }

  @Test("A paired phone receives no prompt over a connection that is not encrypted")
  func anUnencryptedPhoneReceivesNothing() async throws {
    let air = try await FakeTrust.start()
    let engine = CuriousEngine()
    let transport = try await air.phone(0, access: .encrypted(), links: [.gatt])
    let phone = PhoneService(transport: transport, engine: engine)
    try await air.pair(1, with: 0)
    let central = try await air.central(1, access: .encrypted())
    air.isEncrypted.withLock { $0 = false }
    try await running([phone.run, central.run]) {
      try await central.waitForRefusal("did not encrypt the connection")
      #expect(engine.prompts.withLock { $0 }.isEmpty)
      air.isEncrypted.withLock { $0 = true }
      try await central.waitUntilReady()
    }
    try await transport.stop()
    try await air.stop()
  }

  /// The kernel refuses the channels of such devices; what passes it is refused once more.
  @Test("A channel of a device that is not admitted, or not encrypted, opens no v2 mux")
  func channelsOfOthersOpenNoMux() async throws {
    let air = try await FakeTrust.start()
    let transport = try await air.phone(0, access: .encrypted())
    try await air.pair(1, with: 0)
    // Kept, because the connection ends with the session that made it.
    let phone = try await air.device(0, seenBy: 1)
    try await phone.connect()
    try air.admit(1, at: 0, as: .central)
    let control = try await air.control(0, .encrypted())
    let friend = try #require(BluetoothAddress("00:AA:01:00:00:99"))
    let strict = try await air.control(0, .encrypted(allowed: [friend]))
    let central = try #require(try await air.lab.adapter(0).bondedDevices.first)
    let peer = central.peer
    func isAccepted(_ control: AccessControl) async -> Bool {
      let (channels, source) = BoundedStream.make(of: (any MuxChannel).self, limit: 1, policy: .dropNewest)
      let isAccepted = PhoneMuxAcceptor.offer(MemoryChannel.pair().0, of: peer, control, source)
      source.finish()
      #expect(await channels.reduce(0) { count, _ in count + 1 } == (isAccepted ? 1 : 0))
      return isAccepted
    }
    #expect(await isAccepted(control))
    #expect(await !isAccepted(strict), "it is not on the list")
    air.isEncrypted.withLock { $0 = false }
    #expect(await !isAccepted(control), "its connection is not encrypted")
    air.isEncrypted.withLock { $0 = true }
    #expect(await isAccepted(control))
    try air.bonds.remove(air.lab.adapters[1].address, at: air.lab.adapters[0].address)
    #expect(await !isAccepted(control), "no user made this bond for the phone")
    try air.admit(1, at: 0, as: .central)
    #expect(await isAccepted(control))
    try await central.remove()
    try await eventually("its bond is gone") { await !isAccepted(control) }
    withExtendedLifetime(phone) {}
    try await transport.stop()
    try await air.stop()
  }

  @Test("A central that is not admitted neither reads the offer of a v2 mux over GATT nor opens one")
  func othersOpenNoMuxOverGATT() async throws {
    let air = try await FakeTrust.start()
    let log = RecordingLog()
    let transport = try await air.phone(0, access: .encrypted(), bonds: air.bonds, links: [.gatt])
    let phone = PhoneService(transport: transport, engine: CuriousEngine(), logger: log.logger)
    try await running([phone.run]) {
      try await air.pair(1, with: 0)
      let device = try await air.device(0, seenBy: 1)
      try await device.connect()
      let terms = MuxTerms(window: 65536, frameLimit: 600, inflates: false)
      let hello = MuxValue(mux: 7, kind: .last, bytes: Array(MuxFrame.hello(terms).encoded()))
      try await characteristic(EdgeCoderUUIDs.muxValues, of: device).write(hello.encoded, .withoutResponse)
      try await eventually { log.lines.contains("its bond was not made for this phone") }
      await #expect(throws: BlueZError.self) {
        try await device.connect()
        _ = try await characteristic(EdgeCoderUUIDs.muxOffer, of: device).read()
      }
    }
    #expect(!log.lines.contains("v2 mux opened"))
    try await transport.stop()
    try await air.stop()
  }
}
