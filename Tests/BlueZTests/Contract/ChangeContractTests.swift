import BlueZ
import BlueZTesting
import Testing

/// What changes while it is in use: advertisements, services and subscriptions.
extension ContractTests {
  private static let company: UInt16 = 0xffff

  @Test("The content of an advertisement changes in place") func anAdvertisementChanges() async throws {
    let lab = try await FakeBlueZ.start()
    let beacon = try await lab.adapter(0)
    let scanner = try await lab.adapter(1)
    let advertisement = try await beacon.advertise(.init(name: "Lamp", manufacturerData: [Self.company: [1]]))
    let results = try await scanner.discover(.init(duplicates: true))
    var device: Device?
    for await result in results where result.advertisement?.manufacturerData[Self.company] == [1] {
      device = result.device
      break
    }
    try advertisement.update(.init(name: "Lamp", manufacturerData: [Self.company: [2, 3]]))
    #expect(advertisement.content.manufacturerData == [Self.company: [2, 3]])
    await settled { device?.advertisement.manufacturerData[Self.company] == [2, 3] }
    #expect(await lab.adapters[0].holdings().advertisements == 1)
    // A restoration has the new content.
    try await lab.restart()
    await settled { scanner.devices.contains { $0.advertisement.manufacturerData[Self.company] == [2, 3] } }
    try await advertisement.stop()
    try await lab.stop()
  }

  @Test("A change that cannot be advertised is refused, and the advertisement stays as it was")
  func anImpossibleChange() async throws {
    let lab = try await FakeBlueZ.start()
    let advertisement = try await lab.adapter(0).advertise(.init(name: "Lamp"))
    let long = #expect(throws: BlueZError.self) {
      try advertisement.update(.init(manufacturerData: [Self.company: [UInt8](repeating: 0, count: 40)]))
    }
    #expect(long?.code == .advertisementTooLong)
    let broadcast = #expect(throws: BlueZError.self) { try advertisement.update(.init(isConnectable: false)) }
    #expect(broadcast?.code == .invalidArgument)
    #expect(advertisement.content == .init(name: "Lamp"))
    try await advertisement.stop()
    let ended = #expect(throws: BlueZError.self) { try advertisement.update(.init(name: "Lamp")) }
    #expect(ended?.code == .invalidArgument)
    try await lab.stop()
  }

  @Test("A change of the peer's services is an event, and their first discovery is none")
  func servicesChange() async throws {
    let lab = try await FakeBlueZ.start()
    let peripheral = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let offered = try await Parlour().open(on: peripheral)
    let device = try await firstSeen(by: central)
    let events = device.events()
    try await device.connect()
    let more = try await peripheral.offer([LocalService("180f", characteristics: [])])
    var seen: [Device.Event] = []
    for await event in events where [.connected, .servicesResolved, .servicesChanged].contains(event) {
      seen.append(event)
      if event == .servicesChanged { break }
    }
    #expect(seen == [.connected, .servicesResolved, .servicesChanged])
    #expect(device.services.contains { $0.uuid == "180f" })
    try await more.unregister()
    for await event in events where event == .servicesChanged { break }
    #expect(!device.services.contains { $0.uuid == "180f" })
    withExtendedLifetime(offered) {}
    try await lab.stop()
  }

  @Test("A characteristic says whether a program on this host is subscribed") func notifying() async throws {
    let lab = try await FakeBlueZ.start()
    let offered = try await Parlour().open(on: lab.adapter(0))
    let device = try await firstSeen(by: lab.adapter(1))
    try await device.connect()
    let bell = try device.characteristic(Parlour.bell, in: Parlour.service)
    #expect(!bell.isNotifying)
    let notifications = try await bell.notifications()
    await settled { bell.isNotifying }
    withExtendedLifetime((offered, notifications)) {}
    try await lab.stop()
  }
}
