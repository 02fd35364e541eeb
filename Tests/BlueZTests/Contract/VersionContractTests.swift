import BlueZ
import BlueZTesting
import DBus
import Streams
import Testing

/// What a program does on the releases with a fault, each with a fake that has it.
extension ContractTests {
  @Test(
    "A scan for a service finds its device alone, also where bluetoothd must not receive the service",
    arguments: [BlueZRelease(5, 66), BlueZRelease(5, 86), BlueZRelease(5, 87), BlueZRelease(5, 88)])
  func scansByService(version: BlueZRelease) async throws {
    let lab = try await FakeBlueZ.start(adapters: 3, .init(version: version))
    let lamp = try await lab.adapter(0)
    let other = try await lab.adapter(1)
    let central = try await lab.adapter(2)
    let events = central.session.events()
    let opened = try await other.advertise(.init(services: ["180f"]))
    let sightings = try await central.discover(.init(services: [Parlour.service]))
    let wanted = try await lamp.advertise(.init(services: [Parlour.service]))
    var seen = sightings.makeAsyncIterator()
    #expect(await seen.next()?.device.address == lamp.address)
    #expect(sightings.received == 1)
    #expect(events.received == 0, "bluetoothd has stopped")
    withExtendedLifetime((opened, wanted)) {}
    try await lab.stop()
  }

  @Test("A program that sends a filter by service ends BlueZ 5.87, and a scan of ours continues when it is back")
  func anotherProgramCrashesIt() async throws {
    let lab = try await FakeBlueZ.start(.init(version: BlueZRelease(5, 87)))
    let lamp = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let advertisement = try await lamp.advertise(.init(services: [Parlour.service]))
    let sightings = try await central.discover(.init(services: [Parlour.service]))
    var seen = sightings.makeAsyncIterator()
    #expect(await seen.next()?.isLost == false)
    let events = central.session.events()
    let program = try await Connection.open(lab.bus)
    let path = try ObjectPath("/org/bluez/" + lab.adapters[1].name)
    let filter = Value.properties(["UUIDs": .strings([Parlour.service.description])])
    try await program.call("org.bluez", path, "org.bluez.Adapter1", "SetDiscoveryFilter", [filter], returning: "")
    await #expect(throws: DBusError.self) {
      try await program.call("org.bluez", path, "org.bluez.Adapter1", "StartDiscovery", returning: "")
    }
    for await event in events where event == .serviceDown { break }
    program.close()
    try await lab.startAgain()
    #expect(await seen.next()?.isLost == true)
    #expect(await seen.next()?.isLost == false)
    withExtendedLifetime(advertisement) {}
    try await lab.stop()
  }

  @Test(
    "A monitor that bluetoothd would leave without a device is refused, with the way that works",
    arguments: [BlueZRelease(5, 68), BlueZRelease(5, 69), BlueZRelease(5, 82), BlueZRelease(5, 87)])
  func monitors(version: BlueZRelease) async throws {
    let lab = try await FakeBlueZ.start(.init(version: version))
    let adapter = try await lab.adapter(0)
    let named = AdvertisementPattern.name(beginsWith: "Lamp")
    let listed = AdvertisementPattern.firstService("180f")
    let data = AdvertisementPattern.serviceData("180f")
    let maker = AdvertisementPattern.manufacturerData(0xffff)
    for patterns in [named, listed, [data], [maker, data]] {
      let error = await #expect(throws: BlueZError.self) { try await adapter.monitor(.init(patterns: patterns)) }
      #expect(error?.code == .notSupported)
      #expect(error?.hint?.contains("manufacturer data") == (version >= BlueZRelease(5, 69)))
    }
    // The fake has no monitors, so it is bluetoothd that refuses this one.
    let error = await #expect(throws: BlueZError.self) { try await adapter.monitor(.init(patterns: [maker])) }
    #expect(error?.hint?.contains("-E") == true)
    try await lab.stop()
  }

  @Test(
    "Pairing uses the display of the session's agent, also when another program's agent is the default one",
    arguments: [BlueZRelease(5, 81), BlueZRelease(5, 87)])
  func pairsWithItsOwnAgent(version: BlueZRelease) async throws {
    let lab = try await FakeBlueZ.start(.init(version: version))
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    let shown = Lock<[Passkey]>([])
    let person = PairingAgent(
      displayPasskey: { _, _ in },
      confirmPasskey: { _, passkey in
        shown.withLock { $0.append(passkey) }
        return true
      })
    let own = try await central.session.register(person)
    let another = try await lab.session()
    let latest = try await another.register(PairingAgent())
    try await device.connect()
    try await device.pair()
    #expect(shown.withLock { Set($0).count } == 1)
    withExtendedLifetime((opened, own, latest)) {}
    try await lab.stop()
  }

  @Test("A session without an agent, or whose agent needs no display, leaves the default agent in its place")
  func leavesTheDefaultAgent() async throws {
    let lab = try await FakeBlueZ.start(.init(version: BlueZRelease(5, 82)))
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    try await device.connect()
    let asked = Lock(0)
    let own = try await central.session.register(PairingAgent(authorizePairing: { _ in false }))
    let host = PairingAgent(authorizePairing: { _ in
      asked.withLock { $0 += 1 }
      return true
    })
    let registration = try await phone.session.register(host)
    try await device.pair()
    #expect(asked.withLock { $0 } == 1)
    withExtendedLifetime((opened, own, registration)) {}
    try await lab.stop()
  }
}
