import BlueZ
import BlueZTesting
import CoreBluetooth
import Testing

extension CoreBluetoothTests {
  @Test("A central reads and writes what the delegate says, and receives its refusals")
  func requests() async throws {
    let shop = try await Shop.open()
    let device = try await shop.visit()
    #expect(device.name == "Shop")
    let slip = try device.characteristic("2a56", in: "180d")
    #expect(try await slip.read() == Array("open".utf8))
    #expect(try await slip.descriptor("2901").read() == Array("a note".utf8))
    #expect(try await device.characteristic("2a38", in: "180d").read() == [1])
    try await slip.write(Array("closed".utf8))
    #expect(shop.keeper.note.withLock { $0 } == Data("closed".utf8))
    do {
      try await slip.write([0])
      Issue.record("the delegate refuses it")
    } catch let error as BlueZError {
      #expect(error.code == .notPermitted)
    }
    try await slip.write([1, 2], .withoutResponse)
    while shop.keeper.note.withLock({ $0 }) != Data([1, 2]) { await Task.yield() }
    try await shop.lab.stop()
  }

  @Test("What a characteristic grants no permission for is refused, and the delegate is not asked")
  func permissions() async throws {
    let shop = try await Shop.open()
    func characteristic(_ uuid: String, _ value: Data?, _ permissions: CBAttributePermissions)
      -> CBMutableCharacteristic
    {
      let properties: CBCharacteristicProperties = value == nil ? [.read, .write] : .read
      return CBMutableCharacteristic(
        type: CBUUID(string: uuid), properties: properties, value: value, permissions: permissions)
    }
    let safe = CBMutableService(type: CBUUID(string: "1815"), primary: true)
    safe.characteristics = [
      characteristic("2A5A", nil, .writeable), characteristic("2A5B", nil, .readable),
      characteristic("2A5C", Data([1]), []),
    ]
    shop.manager.add(safe)
    #expect(await shop.keeper.watcher.next() == "added 1815")
    let device = try await shop.visit()
    let slot = try device.characteristic("2a5a", in: "1815")
    let window = try device.characteristic("2a5b", in: "1815")
    for closed in [slot, try device.characteristic("2a5c", in: "1815")] {
      let error = await #expect(throws: BlueZError.self) { try await closed.read() }
      #expect(error?.code == .notPermitted)
    }
    let error = await #expect(throws: BlueZError.self) { try await window.write([9]) }
    #expect(error?.code == .notPermitted)
    #expect(try await window.read() == Array("open".utf8))
    try await slot.write([7])
    #expect(shop.keeper.note.withLock { $0 } == Data([7]))
    try await shop.lab.stop()
  }

  @Test("Subscribers receive values in order, and the app is told when there is room again")
  func updates() async throws {
    let shop = try await Shop.open(.init(mtu: 23))
    let device = try await shop.visit()
    let pulse = try device.characteristic("2a37", in: "180d")
    var values = try await pulse.notifications().makeAsyncIterator()
    #expect(await shop.keeper.watcher.next() == "subscribed 20")
    #expect(shop.keeper.pulse.subscribedCentrals?.count == 1)
    var waits = 0
    for number in 1...200 {
      while !shop.manager.updateValue(Data([UInt8(number)]), for: shop.keeper.pulse, onSubscribedCentrals: nil) {
        #expect(await shop.keeper.watcher.next() == "ready")
        waits += 1
      }
    }
    #expect(waits > 0)
    for number in 1...200 { #expect(try await values.next() == [UInt8(number)]) }
    // What is longer than a notification is cut off.
    let all = shop.keeper.pulse.subscribedCentrals
    while !shop.manager.updateValue(Data(repeating: 7, count: 30), for: shop.keeper.pulse, onSubscribedCentrals: all) {
      #expect(await shop.keeper.watcher.next() == "ready")
    }
    #expect(try await values.next() == [UInt8](repeating: 7, count: 20))
    try await device.disconnect()
    _ = await shop.keeper.watcher.until("unsubscribed 0")
    try await shop.lab.stop()
  }

  @Test("What the manager offers is withdrawn when it says so, and when it is released")
  func withdrawing() async throws {
    let shop = try await Shop.open()
    let hardware = shop.lab.adapters[0]
    #expect(await hardware.holdings() == .init(advertisements: 1, applications: 1))
    shop.manager.startAdvertising([CBAdvertisementDataLocalNameKey: "Again"])
    #expect(await shop.keeper.watcher.next() == "advertising true CBErrorDomain 9")
    shop.manager.stopAdvertising()
    shop.manager.remove(shop.keeper.service)
    #expect(await shop.isAbandoned())
    #expect(!shop.manager.isAdvertising)
    await shop.fill()
    shop.manager.removeAllServices()
    shop.manager.stopAdvertising()
    #expect(await shop.isAbandoned())

    let other = try await { () -> FakeBlueZ in
      let released = try await Shop.open()
      #expect(await released.lab.adapters[0].holdings() == .init(advertisements: 1, applications: 1))
      return released.lab
    }()
    while await other.adapters[0].holdings() != .init() { await Task.yield() }
    try await other.stop()
    try await shop.lab.stop()
  }

  @Test("Services outlast the adapter's power, and after a restart of bluetoothd the app adds them again")
  func restarting() async throws {
    let shop = try await Shop.open()
    let hardware = shop.lab.adapters[0]
    await hardware.switchOff()
    #expect(await shop.keeper.watcher.next() == "state poweredOff")
    #expect(!shop.manager.isAdvertising)
    await hardware.switchOn()
    #expect(await shop.keeper.watcher.next() == "state poweredOn")
    let device = try await shop.visit()
    let pulse = try await device.characteristic("2a37", in: "180d").notifications()
    #expect(await shop.keeper.watcher.next() == "subscribed 512")
    try await shop.lab.restart()
    let told = Set(await shop.keeper.watcher.until("state poweredOn"))
    #expect(told.isSuperset(of: ["state resetting", "unsubscribed 0"]))
    #expect(await shop.isAbandoned())
    await shop.fill()
    #expect(await hardware.holdings() == .init(advertisements: 1, applications: 1))
    withExtendedLifetime(pulse) {}
    try await shop.lab.stop()
  }

  @Test("A secondary service comes with the primary one that includes it, and a primary one is refused there")
  func includes() async throws {
    let shop = try await Shop.open()
    let battery = CBMutableService(type: CBUUID(string: "180F"), primary: false)
    battery.characteristics = [
      CBMutableCharacteristic(
        type: CBUUID(string: "2A19"), properties: .read, value: Data([80]), permissions: .readable)
    ]
    shop.manager.add(battery)
    #expect(await shop.keeper.watcher.next() == "added 180F")
    let device = CBMutableService(type: CBUUID(string: "180A"), primary: true)
    device.includedServices = [battery]
    shop.manager.add(device)
    #expect(await shop.keeper.watcher.next() == "added 180A")
    let wrong = CBMutableService(type: CBUUID(string: "1805"), primary: true)
    wrong.includedServices = [shop.keeper.service]
    shop.manager.add(wrong)
    #expect(await shop.keeper.watcher.next() == "added 1805 CBErrorDomain 13")
    let seen = try await shop.visit()
    let information = try #require(seen.services.first { $0.uuid == "180a" })
    #expect(information.includedServices.map(\.uuid) == ["180f"])
    #expect(try await seen.characteristic("2a19", in: "180f").read() == [80])
    try await shop.lab.stop()
  }
}
