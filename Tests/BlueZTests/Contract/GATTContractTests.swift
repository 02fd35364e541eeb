import BlueZ
import BlueZTesting
import Testing

extension ContractTests {
  @Test("Offered, advertised, found, connected, read, written, notified: and all of it over small packets too")
  func everything() async throws {
    for mtu: UInt16 in [23, 517] {
      let lab = try await FakeBlueZ.start(.init(mtu: mtu))
      let (phone, central) = (try await lab.adapter(0), try await lab.adapter(1))
      let parlour = Parlour()
      let opened = try await parlour.open(on: phone)

      let links = phone.connectionEvents()
      let sighting = try await firstSighting(by: central)
      #expect(sighting.rssi == -55)
      let device = sighting.device
      #expect(device.address == phone.address)
      #expect(device.name == "Parlour")
      try await device.connect()
      #expect(device.mtu == Int(mtu))
      for await _ in links where phone.connectedPeers.map(\.address) == [central.address] { break }

      let box = try device.characteristic(Parlour.box, in: Parlour.service)
      #expect(try await box.read() == Array("what is in the box".utf8))
      let long = (0..<500).map { UInt8(truncatingIfNeeded: $0) }
      try await box.write(long)
      #expect(try await box.read() == long)
      #expect(try await box.read(offset: 490) == Array(long[490...]))
      #expect(try await code { try await box.write([0]) } == .notPermitted)
      #expect(try await code { try await box.write(.init(repeating: 1, count: 511)) } == .invalidArgument)
      let description = try #require(box.descriptors.first { $0.uuid == "2901" })
      #expect(try await description.read() == Array("a box".utf8))

      let subscriptions = parlour.bell.subscriptions()
      let bell = try device.characteristic(Parlour.bell, in: Parlour.service)
      let notifications = try await bell.notifications()
      #expect(try await code { try await bell.notifications() } == .inProgress)
      #expect(try await bell.descriptor("2902").read() == [1, 0])
      for number in 1...100 { try await parlour.bell.notify([UInt8(number)]) }
      var heard = notifications.makeAsyncIterator()
      for number in 1...100 { #expect(try await heard.next() == [UInt8(number)]) }

      let drop = try device.characteristic(Parlour.drop, in: Parlour.service)
      let writer = try await drop.writer()
      #expect(writer.longestValue == min(Int(mtu) - 3, 512))
      #expect(try await code { try await drop.write([0], .withoutResponse) } == .inProgress)
      for number in 1...10 { try await writer.write([UInt8(number)]) }
      var dropped = parlour.dropped.stream.makeAsyncIterator()
      for number in 1...10 { #expect(await dropped.next() == [UInt8(number)]) }

      try await device.disconnect()
      #expect(try await heard.next() == nil)
      var events = subscriptions.makeAsyncIterator()
      let here = Peer(path: "/org/bluez/hci1000/dev_02_EB_00_00_00_01")
      #expect(await events.next() == .subscribed(here, mtu: Int(mtu)))
      #expect(await events.next() == .unsubscribed(here))
      for await _ in links where phone.connectedPeers.isEmpty { break }
      withExtendedLifetime(opened) {}
      try await lab.stop()
    }
  }

  @Test("A restart of bluetoothd loses nothing that was declared, and old handles say so")
  func restart() async throws {
    let lab = try await FakeBlueZ.start()
    let (phone, central) = (try await lab.adapter(0), try await lab.adapter(1))
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

  @Test("What a phone declared comes back after its adapter was pulled out, and after it was switched off")
  func adapterGoes() async throws {
    let lab = try await FakeBlueZ.start(.init(switchesOnAdapters: false))
    let (phone, central) = (try await lab.adapter(0), try await lab.adapter(1))
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
