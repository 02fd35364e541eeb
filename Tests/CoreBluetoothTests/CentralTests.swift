import BlueZ
import BlueZTesting
import CoreBluetooth
import Testing

extension CoreBluetoothTests {
  @Test("The states of the adapter and of bluetoothd are told in order, on the app's queue")
  func states() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let central = kiosk.central(watcher)
    #expect(central.state == .unknown)
    #expect(await watcher.next() == "state poweredOn")
    await kiosk.lab.adapters[1].switchOff()
    #expect(await watcher.next() == "state poweredOff")
    await kiosk.lab.adapters[1].switchOn()
    #expect(await watcher.next() == "state poweredOn")
    try await kiosk.lab.restart()
    #expect(await watcher.next() == "state resetting")
    #expect(await watcher.until("state poweredOn").filter { $0 != "state poweredOff" } == [])
    #expect(central.state == .poweredOn)
    try await kiosk.lab.stop()
    #expect(await watcher.next() == "state resetting")
  }

  @Test("Without an adapter the manager is unsupported, until one is plugged in")
  func withoutAnAdapter() async throws {
    let lab = try await FakeBlueZ.start(adapters: 1)
    try await lab.adapters[0].unplug()
    let watcher = Watcher()
    let central = CBCentralManager(delegate: watcher, queue: watcher.queue) { (try await lab.session(), nil) }
    #expect(await watcher.next() == "state unsupported")
    try await lab.adapters[0].plugIn()
    #expect(await watcher.until("state poweredOn").filter { $0 != "state poweredOff" } == [])
    withExtendedLifetime(central) {}
    try await lab.stop()
  }

  @Test("A scan tells of a device once, or of each advertisement, and ends with the adapter's power")
  func scanning() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let central = kiosk.central(watcher)
    #expect(await watcher.next() == "state poweredOn")
    central.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    #expect(central.isScanning)
    #expect(await watcher.next() == #"found Kiosk ["180D"] -55"#)
    let stranger = try #require(BluetoothAddress("C0:00:00:00:00:01"))
    let hardware = kiosk.lab.adapters[1]
    for rssi in [-40, -70, -40] as [Int16] {
      await hardware.receiveAdvertisement(of: stranger, name: "Lamp", services: ["180d"], rssi: rssi)
    }
    let other = try #require(BluetoothAddress("C0:00:00:00:00:02"))
    await hardware.receiveAdvertisement(of: other, name: "Torch", services: ["180d"])
    #expect(await watcher.next() == #"found Lamp ["180D"] -40"#)
    #expect(await watcher.next() == #"found Torch ["180D"] -70"#)

    central.scanForPeripherals(
      withServices: [CBUUID(string: "180D")], options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
    _ = await watcher.until(#"found Lamp ["180D"] -40"#)
    for rssi in [-70, -50] as [Int16] {
      await hardware.receiveAdvertisement(of: stranger, name: "Lamp", services: ["180d"], rssi: rssi)
      _ = await watcher.until(#"found Lamp ["180D"] \#(rssi)"#)
    }
    #expect(await hardware.holdings().scans == 1)
    await hardware.switchOff()
    _ = await watcher.until("state poweredOff")
    #expect(!central.isScanning)
    await hardware.switchOn()
    _ = await watcher.until("state poweredOn")
    #expect(await kiosk.isAbandoned())
    try await kiosk.lab.stop()
  }

  @Test("Services are nil until they are discovered, and each attribute is one object")
  func discovery() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let (central, peripheral) = try await kiosk.connectedCentral(watcher)
    #expect(peripheral.name == "Kiosk")
    #expect(peripheral.services == nil)
    peripheral.discoverServices([CBUUID(string: "180F")])
    #expect(await watcher.next() == "services []")
    let box = try await kiosk.characteristic("2A56", of: peripheral, watcher)
    #expect(box.properties == [.read, .write])
    #expect(box.service?.peripheral === peripheral)
    #expect(try await kiosk.characteristic("2A56", of: peripheral, watcher) === box)
    peripheral.discoverDescriptors(for: box)
    #expect(await watcher.next() == #"descriptors ["2901"]"#)
    peripheral.readValue(for: try #require(box.descriptors?.first))
    #expect(await watcher.next() == "descriptor a box")
    #expect(central.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180D")]) == [peripheral])
    try await kiosk.lab.stop()
  }

  @Test("Values are read and written, and a refusal is the peer's error")
  func values() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let (central, peripheral) = try await kiosk.connectedCentral(watcher)
    let box = try await kiosk.characteristic("2A56", of: peripheral, watcher)
    #expect(box.value == nil)
    peripheral.writeValue(Data([7, 8]), for: box, type: .withResponse)
    peripheral.readValue(for: box)
    peripheral.writeValue(Data([0]), for: box, type: .withResponse)
    #expect(await watcher.next() == "written")
    #expect(await watcher.next() == "value [7, 8]")
    #expect(await watcher.next() == "written CBATTErrorDomain 3")
    peripheral.readRSSI()
    peripheral.setNotifyValue(true, for: box)
    #expect(await watcher.next() == "notifying false CBErrorDomain 13")
    withExtendedLifetime(central) {}
    try await kiosk.lab.stop()
  }
}
