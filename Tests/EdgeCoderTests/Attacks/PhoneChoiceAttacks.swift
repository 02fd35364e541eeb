import BlueZ
import EdgeCoder
import EdgeCoderTesting
import SystemTesting
import Testing

/// Devices that pose as phones: none receives a prompt of a closed central.
@Suite("Devices that pose as phones", .timeLimit(.minutes(5))) struct PhoneChoiceAttacks {
  @Test("A stranger that advertises the service receives no prompt, and is not even connected")
  func aStrangerReceivesNothing() async throws {
    let air = try await FakeTrust.start()
    let engine = CuriousEngine()
    let transport = try await air.phone(0, access: .open)
    let phone = PhoneService(transport: transport, engine: engine)
    let central = try await air.central(1, access: .encrypted())
    try await running([phone.run, central.run]) {
      try await central.waitForRefusal("is not paired with this central")
      #expect(await phone.snapshot().peers == 0)
    }
    #expect(engine.prompts.withLock { $0 }.isEmpty)
    try await transport.stop()
    try await air.stop()
  }

  @Test("A paired phone receives prompts; when it no longer demands encryption it is refused and named")
  func aKnownPhoneThatDropsItsGuardIsRefused() async throws {
    let air = try await FakeTrust.start()
    let engine = CuriousEngine()
    let closed = try await air.phone(0, access: .encrypted())
    try await air.pair(1, with: 0)
    let central = try await air.central(1, access: .encrypted())
    let phone = PhoneService(transport: closed, engine: engine)
    try await running([central.run]) {
      try await running([phone.run]) {
        try await central.waitUntilReady()
        #expect(try await central.generate(prompt: "hello", maxTokens: nil).answer.output == "hello")
      }
      try await closed.stop()
      let open = try await air.phone(0, access: .open)
      let careless = PhoneService(transport: open, engine: engine)
      try await running([careless.run]) {
        try await air.lab.restart()
        try await central.waitForRefusal("no longer demands encryption")
      }
      try await open.stop()
    }
    #expect(engine.prompts.withLock { $0 } == ["hello"])
    try await air.stop()
  }

  @Test("Five fakes with a stronger signal do not take the place of a paired phone")
  func fakesDoNotFillTheLimit() async throws {
    let air = try await FakeTrust.start()
    let transport = try await air.phone(0, access: .encrypted())
    let phone = PhoneService(transport: transport, engine: CuriousEngine())
    try await air.pair(1, with: 0)
    for number in 0..<5 {
      let fake = try #require(BluetoothAddress("00:66:00:00:00:0\(number)"))
      await air.lab.adapters[1].receiveAdvertisement(
        of: fake, name: "EdgeCoder-fake", services: [BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)], rssi: -20)
    }
    let central = try await air.central(1, access: .encrypted(), phones: 1)
    try await running([phone.run, central.run]) {
      try await central.waitUntilReady()
      #expect(try await central.generate(prompt: "hello", maxTokens: nil).answer.output == "hello")
    }
    try await transport.stop()
    try await air.stop()
  }

  @Test("A central never pairs by itself, and uses a phone as soon as its user has paired with it")
  func onlyTheUserPairs() async throws {
    let air = try await FakeTrust.start()
    let transport = try await air.phone(0, access: .encrypted())
    let phone = PhoneService(transport: transport, engine: CuriousEngine())
    let open = try await air.lab.adapter(0)
    let agent = try await open.session.register(PairingAgent(authorizePairing: { _ in true }))
    let window = try await open.openPairingWindow(for: .seconds(60))
    let eager = try await air.central(1, access: .open)
    try await running([phone.run, eager.run]) { try await eager.waitForRefusal("requires pairing") }
    #expect(open.bondedDevices.isEmpty)
    try await window.close()
    try await agent.unregister()

    let central = try await air.central(1, access: .encrypted())
    try await running([phone.run, central.run]) {
      try await central.waitForRefusal("is not paired with this central")
      try await air.pair(1, with: 0)
      try await central.waitUntilReady()
    }
    try await transport.stop()
    try await air.stop()
  }

  @Test("A second bond under the identity of an admitted phone ends its admission")
  func aClaimedIdentityReceivesNothing() async throws {
    let air = try await FakeTrust.start()
    let transport = try await air.phone(0, access: .encrypted())
    let phone = PhoneService(transport: transport, engine: CuriousEngine())
    try air.admit(0, at: 1, as: .phone, madeMs: 0)
    let central = try await air.central(1, access: .encrypted(), bonds: air.bonds)
    try await running([phone.run, central.run]) {
      try await central.waitForRefusal("is not paired with this central")
      try await air.pair(1, with: 0)
      try await eventually { try air.bonds.bonds().isEmpty }
      try await central.waitForRefusal("not as a phone of this central")
    }
    try await transport.stop()
    try await air.stop()
  }

  @Test("A bond that was not made with a phone, or is not on the list, receives no prompt")
  func otherBondsReceiveNothing() async throws {
    let air = try await FakeTrust.start()
    let transport = try await air.phone(0, access: .encrypted())
    let phone = PhoneService(transport: transport, engine: CuriousEngine())
    try await air.pair(1, with: 0)
    let other = try #require(BluetoothAddress("00:AA:01:00:00:99"))
    let unlisted = try await air.central(1, access: .encrypted(allowed: [other]))
    try await running([phone.run, unlisted.run]) { try await unlisted.waitForRefusal("not on the allow list") }
    let central = try await air.central(1, access: .encrypted(), bonds: air.bonds)
    try await running([phone.run, central.run]) {
      try await central.waitForRefusal("not as a phone of this central")
      try air.bonds.add(
        .init(adapter: air.lab.adapters[1].address, peer: air.lab.adapters[0].address, role: .phone))
      await air.lab.adapters[0].loseConnections()
      try await air.lab.restart()
      try await central.waitUntilReady()
    }
    try await transport.stop()
    try await air.stop()
  }
}
