import BlueZ
import BlueZTesting
import Testing

/// Tests of the part of the fake that stands in for the kernel beside its channels.
extension ContractTests {
  private func privileged(_ count: Int = 2) async throws -> FakeBlueZ {
    var configuration = FakeBlueZ.Configuration(rssi: -48)
    configuration.hasNetAdmin = true
    return try await FakeBlueZ.start(adapters: count, configuration)
  }

  @Test("The connections of an adapter have their role and encryption, and are those that exist")
  func connectionsOfAnAdapter() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    #expect(try central.connections() == [])
    let device = try await firstSeen(by: central)
    try await device.connect()
    let made = try #require(try central.connections().first)
    #expect(made.address == phone.address)
    #expect(made.isCentral)
    #expect(!made.isEncrypted)
    #expect(try phone.connections().first?.isCentral == false)

    let agent = try await phone.session.register(PairingAgent(authorizePairing: { _ in true }))
    let window = try await phone.openPairingWindow(for: .seconds(60))
    try await device.pair()
    #expect(try central.connections().map(\.isEncrypted) == [true])
    #expect(try phone.connections().map(\.isEncrypted) == [true])
    await lab.adapters[0].loseConnections()
    #expect(try central.connections() == [])
    #expect(try phone.connections() == [])

    try await device.connect()
    #expect(try phone.connections().count == 1)
    try await lab.restart()
    await settled { central.isPowered && phone.isPowered }
    #expect(try central.connections() == [])
    withExtendedLifetime((opened, agent, window)) {}
    try await lab.stop()
  }

  @Test("A link has the readings that a test sets, as long as it exists") func readingsOfTheFake() async throws {
    let lab = try await privileged()
    let opened = try await Parlour().open(on: try await lab.adapter(0))
    let device = try await firstSeen(by: try await lab.adapter(1))
    #expect(try await code { try await device.linkReading() } == .notConnected)
    try await device.connect()
    #expect(try await device.linkReading().rssi == -48)
    await lab.adapters[1].setLinkReading(LinkReading(rssi: -90, transmitPower: 4), of: lab.adapters[0].address)
    var readings = device.linkReadings(every: .milliseconds(100)).makeAsyncIterator()
    #expect(try await readings.next() == LinkReading(rssi: -90, transmitPower: 4))
    await lab.adapters[0].loseConnections()
    while try await readings.next() != nil {}
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("Connection parameters of devices and of adapters are kept, and those that a peripheral asks for are an update")
  func parametersOfTheFake() async throws {
    let lab = try await privileged()
    let opened = try await Parlour().open(on: try await lab.adapter(0))
    let central = try await lab.adapter(1)
    let device = try await firstSeen(by: central)
    let slow = ConnectionParameters(
      interval: .milliseconds(100) ... .milliseconds(200), latency: 1, supervisionTimeout: .seconds(4))
    #expect(try await central.preferredConnectionParameters().supervisionTimeout == .milliseconds(420))
    try await central.setPreferredConnectionParameters(slow)
    #expect(try await central.preferredConnectionParameters() == slow)
    try await device.setPreferredConnectionParameters(slow)
    #expect(await lab.adapters[1].preferredConnectionParameters(of: lab.adapters[0].address) == slow)
    #expect(await lab.adapters[0].preferredConnectionParameters(of: lab.adapters[1].address) == nil)

    let sensor = lab.adapters[0]
    let target = lab.adapters[1].address
    let updates = try await device.connectionParameterUpdates()
    #expect(try await code { try await sensor.requestConnectionParameters(slow, of: target) } == .notConnected)
    try await device.connect()
    try await sensor.requestConnectionParameters(slow, of: target)
    #expect(await updates.first { _ in true } == slow)
    let impossible = ConnectionParameters(interval: .zero ... .zero, supervisionTimeout: .zero)
    #expect(try await code { try await sensor.requestConnectionParameters(impossible, of: target) } == .invalidArgument)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("Settings and PHYs are what a program has set, until bluetoothd starts again") func settingsOfTheFake()
    async throws
  {
    let lab = try await privileged(1)
    let adapter = try await lab.adapter(0)
    let usual = try await adapter.settings()
    #expect(usual.current.isSuperset(of: [.powered, .lowEnergy, .secureConnections]))
    #expect(!usual.current.contains(.privacy))
    #expect(usual.supported.contains(.privacy))
    try await adapter.setSecureConnections(.off)
    #expect(try await code { try await adapter.setPrivacy(.off) } == .notPermitted)
    try await adapter.setPowered(false)
    try await adapter.setPrivacy(.always(key: [UInt8](1...16)))
    let changed = try await adapter.settings().current
    #expect(changed.contains(.privacy))
    #expect(changed.isDisjoint(with: [.powered, .secureConnections]))
    try await adapter.setPowered(true)

    var phys = try await adapter.phys()
    #expect(phys.supportedTransmit == Set(PHY.allCases))
    #expect(phys.transmit == [.oneMegabit])
    try await adapter.setPHYs(transmit: [.twoMegabit], receive: [.coded])
    phys = try await adapter.phys()
    #expect(phys.transmit == [.oneMegabit, .twoMegabit])
    #expect(phys.receive == [.oneMegabit, .coded])

    try await lab.restart()
    await settled { adapter.session.isServiceUp && adapter.isPowered }
    #expect(try await adapter.settings().current == usual.current)
    try await lab.stop()
  }

  @Test("Without the capability the fake refuses what the kernel refuses") func noCapability() async throws {
    let lab = try await FakeBlueZ.start()
    let opened = try await Parlour().open(on: try await lab.adapter(0))
    let central = try await lab.adapter(1)
    let device = try await firstSeen(by: central)
    try await device.connect()
    #expect(try await central.settings().current.contains(.powered))
    #expect(try await central.preferredConnectionParameters().latency == 0)
    #expect(try await code { try await device.linkReading() } == .notPermitted)
    #expect(try await code { try await device.connectionParameterUpdates() } == .notPermitted)
    #expect(try await code { try await central.phys() } == .notPermitted)
    #expect(try await code { try await central.setSecureConnections(.required) } == .notPermitted)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }
}
