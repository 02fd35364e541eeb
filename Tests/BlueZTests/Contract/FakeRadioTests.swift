import BlueZTesting
import Streams
import Testing

@testable import BlueZ

/// Tests of what the fake has beside two programs in range of each other: monitors, strangers, passkeys.
extension ContractTests {
  private func stranger(_ digit: Int = 7) throws -> BluetoothAddress {
    try #require(BluetoothAddress("C0:00:00:00:00:0\(digit)"))
  }

  private func withMonitors(_ version: BlueZRelease) async throws -> FakeBlueZ {
    var configuration = FakeBlueZ.Configuration(version: version)
    configuration.hasMonitors = true
    return try await FakeBlueZ.start(configuration)
  }

  @Test(
    "A monitor reports what matches its pattern and is strong enough, and its loss",
    arguments: [BlueZRelease(5, 66), BlueZRelease(5, 82)])
  func monitorsReport(version: BlueZRelease) async throws {
    let lab = try await withMonitors(version)
    let central = try await lab.adapter(1)
    let hardware = lab.adapters[1]
    let stranger = try self.stranger()
    let monitor = try await central.monitor(
      .init(patterns: [.manufacturerData(0xffff, beginsWith: [7])], thresholds: .init(high: -60, low: -80)))
    #expect(await hardware.holdings().monitors == 1)
    var events = monitor.events.makeAsyncIterator()
    await hardware.receiveAdvertisement(of: try self.stranger(8), manufacturerData: [0xffff: [8]], rssi: -40)
    await hardware.receiveAdvertisement(of: stranger, manufacturerData: [0xffff: [7, 1]], rssi: -70)
    await hardware.receiveAdvertisement(of: stranger, manufacturerData: [0xffff: [7, 1]], rssi: -50)
    guard case .found(let device) = await events.next() else {
      Issue.record("nothing was found")
      return
    }
    #expect(device.address == stranger)
    await hardware.receiveAdvertisement(of: stranger, manufacturerData: [0xffff: [7, 1]], rssi: -90)
    #expect(await events.next() == .lost(device))
    await hardware.receiveAdvertisement(of: stranger, manufacturerData: [0xffff: [7, 1]], rssi: -50)
    #expect(await events.next() == .found(device))
    await hardware.forget(stranger)
    #expect(await events.next() == .lost(device))
    try await monitor.stop()
    #expect(await hardware.holdings() == .init())
    try await lab.stop()
  }

  @Test("A monitor finds again after a restart of bluetoothd, and the advertisement of a program is lost with it")
  func restoredMonitors() async throws {
    let lab = try await withMonitors(BlueZRelease(5, 66))
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let thresholds = AdvertisementMonitor.Thresholds(high: -60, low: -80)
    let monitor = try await central.monitor(
      .init(patterns: AdvertisementPattern.name(beginsWith: "La"), thresholds: thresholds))
    let lamp = try await phone.advertise(.init(name: "Lamp"))
    var events = monitor.events.makeAsyncIterator()
    guard case .found(let before) = await events.next() else {
      Issue.record("nothing was found")
      return
    }
    try await lab.restart()
    var again = await events.next()
    while again == .lost(before) { again = await events.next() }
    guard case .found(let device) = again else {
      Issue.record("nothing was found again")
      return
    }
    #expect(device.address == phone.address)
    #expect(device != before)
    try await lamp.stop()
    while let event = await events.next(), event != .lost(device) {}
    try await lab.stop()
  }

  @Test("A stranger that accepts connections is linked, lost and linked again")
  func connectableStrangers() async throws {
    let lab = try await FakeBlueZ.start()
    let central = try await lab.adapter(1)
    let hardware = lab.adapters[1]
    let stranger = try self.stranger()
    await hardware.receiveAdvertisement(of: stranger, name: "Kettle", rssi: -80, isConnectable: true)
    let options = ConnectOptions.keepConnected(backoff: .milliseconds(1), longestDelay: .milliseconds(1))
    let kept = try await central.connect(to: stranger, options)
    let device = try await kept.device()
    #expect(device.name == "Kettle")
    #expect(await hardware.holdings().links == 1)
    let events = device.events()
    await hardware.loseConnections()
    for await event in events { if case .disconnected = event { break } }
    _ = try await kept.device()
    await kept.end()
    #expect(await hardware.holdings().links == 0)
    try await lab.stop()
  }

  @Test("A stranger that comes nearer changes its RSSI")
  func strengthOfStrangers() async throws {
    let lab = try await FakeBlueZ.start()
    let central = try await lab.adapter(1)
    let stranger = try self.stranger()
    await lab.adapters[1].receiveAdvertisement(of: stranger, rssi: -90)
    var results = try await central.discover().makeAsyncIterator()
    #expect(await results.next()?.rssi == -90)
    await lab.adapters[1].receiveAdvertisement(of: stranger, rssi: -50)
    #expect(await results.next()?.rssi == -50)
    try await lab.stop()
  }

  /// The users at both ends of a pairing by passkey entry.
  enum Users: CaseIterable, Sendable {
    case right, wrong
  }

  @Test(
    "A passkey that one side displays and the other enters authenticates, and a wrong one fails",
    arguments: Users.allCases)
  func passkeys(users: Users) async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let shown = BoundedStream.make(of: Passkey.self, limit: 1)
    let shows = PairingAgent(displayPasskey: { _, passkey in shown.source.yield(passkey) })
    let enters = PairingAgent(enterPasskey: { _ in
      for await passkey in shown.stream {
        return users == .right ? passkey : try #require(Passkey((passkey.number + 1) % 1_000_000))
      }
      throw CancellationError()
    })
    // The last agent decides for the side that did not start.
    let agents = [try await central.session.register(enters), try await phone.session.register(shows)]
    let window = try await phone.openPairingWindow(for: .seconds(60))
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    try await device.connect()
    switch users {
    case .right:
      try await device.pair()
      #expect(await lab.adapters[1].securityLevel(to: phone.address) == .fips)
    case .wrong:
      #expect(try await code { try await device.pair() } == .authenticationFailed)
      #expect(await lab.adapters[1].securityLevel(to: phone.address) == .low)
    }
    withExtendedLifetime((agents, window, opened)) {}
    try await lab.stop()
  }

  @Test("A private address is another device's whenever it changes, until a bond resolves it")
  func privateAddresses() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let agent = try await phone.session.register(PairingAgent(authorizePairing: { _ in true }))
    let window = try await phone.openPairingWindow(for: .seconds(60))
    let opened = try await Parlour().open(on: phone)
    let addresses = try ["4A:00:00:00:00:01", "4A:00:00:00:00:02", "4A:00:00:00:00:03"].map {
      try #require(BluetoothAddress($0))
    }
    await lab.adapters[0].setPrivateAddress(addresses[0])
    let before = try await firstSeen(by: central)
    #expect(before.id == .object(before.path))
    await lab.adapters[0].setPrivateAddress(addresses[1])
    let device = try await firstSeen(by: central)
    #expect(device.address == addresses[1])
    #expect(device.addressType == .random)
    #expect(before.address == nil)

    let events = device.events()
    try await device.pair()
    for await case .identityResolved(let address) in events {
      #expect(address == phone.address)
      break
    }
    #expect(device.id == .address(phone.address))
    try await device.disconnect()
    await lab.adapters[0].setPrivateAddress(addresses[2])
    #expect(device.address == phone.address)
    withExtendedLifetime((agent, window, opened)) {}
    try await lab.stop()
  }

  @Test("bluetoothd serves calls in their order, also when it becomes faster meanwhile") func order() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    let connection = try central.core.connection()
    lab.adapters[1].inject(.slowReplies(.milliseconds(100)))
    try connection.callWithoutReply(SessionCore.service, device.path, InterfaceName.device, "Connect")
    // It has arrived when a later message has.
    _ = try await connection.call(SessionCore.service, "/", "org.freedesktop.DBus.Peer", "Ping")
    lab.adapters[1].repair()
    _ = try await connection.call(SessionCore.service, device.path, InterfaceName.device, "Disconnect")
    #expect(await lab.adapters[1].holdings().links == 0)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }
}
