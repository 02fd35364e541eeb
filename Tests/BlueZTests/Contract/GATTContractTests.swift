import BlueZ
import BlueZTesting
import Testing

extension ContractTests {
  /// A connection between the fake's two adapters, of which the first one offers and advertises the parlour.
  private struct Visit {
    let lab: FakeBlueZ
    let phone: Adapter
    let central: Adapter
    let parlour: Parlour
    let device: Device
    let opened: (GATTApplication, Advertisement)

    /// Finds the parlour by its advertisement and connects to it.
    static func begin(mtu: UInt16) async throws -> Visit {
      let lab = try await FakeBlueZ.start(.init(mtu: mtu))
      let phone = try await lab.adapter(0)
      let central = try await lab.adapter(1)
      let parlour = Parlour()
      let opened = try await parlour.open(on: phone)
      let result = try await firstScanResult(by: central)
      #expect(result.rssi == -55)
      #expect(result.device.address == phone.address)
      #expect(result.device.name == "Parlour")
      try await result.device.connect()
      #expect(result.device.mtu == Int(mtu))
      return Visit(
        lab: lab, phone: phone, central: central, parlour: parlour, device: result.device, opened: opened)
    }

    func characteristic(_ uuid: BluetoothUUID) throws -> RemoteCharacteristic {
      try device.characteristic(uuid, in: Parlour.service)
    }
  }

  @Test("A value is read and written whole, over small packets and large ones", arguments: [23, 517] as [UInt16])
  func readingAndWriting(mtu: UInt16) async throws {
    let visit = try await Visit.begin(mtu: mtu)
    let box = try visit.characteristic(Parlour.box)
    #expect(try await box.read() == Array("what is in the box".utf8))
    let long = (0..<500).map { UInt8(truncatingIfNeeded: $0) }
    try await box.write(long)
    #expect(try await box.read() == long)
    #expect(try await box.read(offset: 490) == Array(long[490...]))
    #expect(try await code { try await box.write([0]) } == .notPermitted)
    #expect(try await code { try await box.write(.init(repeating: 1, count: 511)) } == .invalidArgument)
    let description = try #require(box.descriptors.first { $0.uuid == "2901" })
    #expect(try await description.read() == Array("a box".utf8))
    try await visit.lab.stop()
  }

  @Test("Notifications arrive in order and end with the connection", arguments: [23, 517] as [UInt16])
  func notifying(mtu: UInt16) async throws {
    let visit = try await Visit.begin(mtu: mtu)
    let connections = visit.phone.connectionEvents()
    // The phone is a program of its own, which may hear of the link later than the central.
    await settled { visit.phone.connectedPeers.map(\.address) == [visit.central.address] }
    let subscriptions = visit.parlour.bell.subscriptions()
    let bell = try visit.characteristic(Parlour.bell)
    let notifications = try await bell.notifications()
    #expect(try await code { try await bell.notifications() } == .inProgress)
    #expect(try await bell.descriptor("2902").read() == [1, 0])
    for number in 1...100 { try await visit.parlour.bell.notify([UInt8(number)]) }
    var values = notifications.makeAsyncIterator()
    for number in 1...100 { #expect(try await values.next() == [UInt8(number)]) }

    try await visit.device.disconnect()
    #expect(try await values.next() == nil)
    var events = subscriptions.makeAsyncIterator()
    let here = Peer(path: "/org/bluez/hci1000/dev_02_EB_00_00_00_01")
    #expect(await events.next() == .subscribed(here, mtu: Int(mtu)))
    #expect(await events.next() == .unsubscribed(here))
    for await _ in connections where visit.phone.connectedPeers.isEmpty { break }
    try await visit.lab.stop()
  }

  @Test("A writer sends values without response, and excludes other writes", arguments: [23, 517] as [UInt16])
  func writingWithoutResponse(mtu: UInt16) async throws {
    let visit = try await Visit.begin(mtu: mtu)
    let drop = try visit.characteristic(Parlour.drop)
    let writer = try await drop.writer()
    #expect(writer.longestValue == min(Int(mtu) - 3, 512))
    #expect(try await code { try await drop.write([0], .withoutResponse) } == .inProgress)
    for number in 1...10 { try await writer.write([UInt8(number)]) }
    var dropped = visit.parlour.dropped.stream.makeAsyncIterator()
    for number in 1...10 { #expect(await dropped.next() == [UInt8(number)]) }
    try await visit.lab.stop()
  }

  @Test("A subscription and a writer that ended are followed by others at once") func endedSockets() async throws {
    let visit = try await Visit.begin(mtu: 517)
    let bell = try visit.characteristic(Parlour.bell)
    let drop = try visit.characteristic(Parlour.drop)
    for number in UInt8(1)...100 {
      // Released at once.
      _ = try await bell.notifications()
      try await drop.writer().close()
      try await drop.write([number], .withoutResponse)
    }
    try await visit.lab.stop()
  }

  @Test("A restart of bluetoothd restores every declaration, and old handles are stale")
  func restart() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let parlour = Parlour()
    let opened = try await parlour.open(on: phone)
    let sightings = try await central.discover(.init(services: [Parlour.service]))
    var seen = sightings.makeAsyncIterator()
    let device = try #require(await seen.next()).device
    try await device.connect()
    let notifications = try await device.characteristic(Parlour.bell, in: Parlour.service).notifications()

    try await lab.restart()
    #expect(try await code { try await device.connect() } == .staleHandle)
    var heard = notifications.makeAsyncIterator()
    #expect(try await heard.next() == nil)

    var again: Device?
    while again == nil {
      let sighting = try #require(await seen.next())
      if !sighting.isLost, sighting.device != device { again = sighting.device }
    }
    let device2 = try #require(again)
    try await device2.connect()
    let renewed = try await device2.characteristic(Parlour.bell, in: Parlour.service).notifications()
    try await parlour.bell.notify([7])
    var heardAgain = renewed.makeAsyncIterator()
    #expect(try await heardAgain.next() == [7])
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("Declarations are restored after an adapter was unplugged, and after it was switched off")
  func adapterGoes() async throws {
    let lab = try await FakeBlueZ.start(.init(switchesOnAdapters: false))
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    #expect(try await code { try await phone.advertise(.init(name: "off")) } == .notPowered)
    try await phone.setPowered(true)
    try await central.setPowered(true)
    let parlour = Parlour()
    let opened = try await parlour.open(on: phone)

    for fault in ["unplugged", "switched off"] {
      let device = try await firstSeen(by: central)
      try await device.connect()
      let events = device.events()
      if fault == "unplugged" {
        let changes = phone.session.events()
        try await lab.adapters[0].unplug()
        for await change in changes where change == .adapterRemoved("/org/bluez/hci1000") { break }
        #expect(try await code { try await phone.setAlias("gone") } == .noAdapter)
        try await lab.adapters[0].plugIn()
      } else {
        await lab.adapters[0].switchOff()
        await lab.adapters[0].switchOn()
      }
      for await event in events where event == .disconnected(nil) { break }
      try await device.connect()
      #expect(try await device.characteristic(Parlour.box, in: Parlour.service).read().count == 18)
      try await device.remove()
    }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }
}
