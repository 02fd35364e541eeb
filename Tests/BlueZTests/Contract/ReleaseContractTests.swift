import BlueZ
import BlueZTesting
import DBus
import Testing

extension ContractTests {
  @Test(
    "A value for one of two centrals reaches it alone where the release supports that, and is refused elsewhere",
    arguments: [BlueZRelease(5, 66), BlueZRelease(5, 72), BlueZRelease(5, 76), BlueZRelease(5, 83)])
  func twoCentrals(version: BlueZRelease) async throws {
    let lab = try await FakeBlueZ.start(adapters: 3, .init(version: version))
    let phone = try await lab.adapter(0)
    let parlour = Parlour()
    let opened = try await parlour.open(on: phone)
    var heard: [Notifications.Iterator] = []
    var devices: [Device] = []
    for index in 1...2 {
      let device = try await firstSeen(by: try await lab.adapter(index))
      try await device.connect()
      devices.append(device)
      let bell = try device.characteristic(Parlour.bell, in: Parlour.service)
      heard.append(try await bell.notifications().makeAsyncIterator())
    }
    try await parlour.bell.notify([1])
    for index in heard.indices { #expect(try await heard[index].next() == [1]) }

    let second = Peer(path: "/org/bluez/hci1000/dev_02_EB_00_00_00_02")
    if version >= BlueZRelease(5, 76) {
      try await parlour.bell.notify([2], to: second)
      #expect(try await heard[1].next() == [2])
    } else {
      #expect(try await code { try await parlour.bell.notify([2], to: second) } == .notSupported)
    }
    try await parlour.bell.notify([3])
    #expect(try await heard[0].next() == [3])

    // A central that leaves takes nothing from the other.
    let events = devices[0].events()
    await lab.adapters[1].loseConnections()
    let reason: DisconnectReason? = version >= BlueZRelease(5, 83) ? .timeout : nil
    for await event in events where event == .disconnected(reason) { break }
    try await parlour.bell.notify([4])
    #expect(try await heard[1].next() == [3])
    #expect(try await heard[1].next() == [4])
    #expect(try await heard[0].next() == nil)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test(
    "An indication is confirmed, in the way of each release, over a socket or a property",
    arguments: [BlueZRelease(5, 66), BlueZRelease(5, 77), BlueZRelease(5, 80)])
  func indications(version: BlueZRelease) async throws {
    let lab = try await FakeBlueZ.start(.init(version: version))
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let lamp = LocalCharacteristic("2a05", [.indicate])
    let application = try await phone.offer([LocalService(Parlour.service, characteristics: [lamp])])
    let advertisement = try await phone.advertise(.init(services: [Parlour.service]))
    let device = try await firstSeen(by: central)
    try await device.connect()
    var values = try await device.characteristic("2a05", in: Parlour.service).notifications().makeAsyncIterator()
    if (BlueZRelease(5, 74)...BlueZRelease(5, 79)).contains(version) {
      #expect(try await code { try await lamp.indicate([1]) } == .notSupported)
      try await lamp.notify([1])
    } else {
      try await lamp.indicate([1])
    }
    #expect(try await values.next() == [1])
    withExtendedLifetime((application, advertisement)) {}
    try await lab.stop()
  }

  @Test("A program that terminates loses its advertisement, services and scan")
  func clientLeaves() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let other = try await lab.session()
    let scanning = try await other.adapter(lab.adapters[1].name).discover()
    let device = try await firstSeen(by: central)
    try await device.connect()

    // The central's session sees the phone's adapter too, as every program does.
    let seen = try await central.session.adapter(lab.adapters[0].name)
    #expect(seen.services.contains(Parlour.service))
    let offered = seen.values(of: \.services)
    let scanned = central.values(of: \.isDiscovering)
    phone.session.close()
    for await services in offered where !services.contains(Parlour.service) { break }
    #expect(device.services.isEmpty)
    let connection = try await Connection.open(lab.bus)
    let manager = RemoteObject(connection, "org.bluez", "/org/bluez/hci1000")
    #expect(try await manager.get("org.bluez.LEAdvertisingManager1", "ActiveInstances") == .byte(0))
    #expect(central.isDiscovering)
    other.close()
    for await isOn in scanned where !isOn { break }
    connection.close()
    withExtendedLifetime((opened, scanning)) {}
    try await lab.stop()
  }
}
