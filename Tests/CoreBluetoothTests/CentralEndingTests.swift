import BlueZ
import CoreBluetooth
import Testing

/// What an app has begun ends when it says so, and when anything else ends it.
extension CoreBluetoothTests {
  @Test("Notifications arrive in order, all of them before the end of the connection")
  func notifications() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let (central, peripheral) = try await kiosk.connectedCentral(watcher)
    let bell = try await kiosk.characteristic("2A37", of: peripheral, watcher)
    peripheral.setNotifyValue(true, for: bell)
    #expect(await watcher.next() == "notifying true")
    for number in 1...100 { try await kiosk.bell.notify([UInt8(number)]) }
    for number in 1...100 { #expect(await watcher.next() == "value [\(number)]") }
    peripheral.setNotifyValue(false, for: bell)
    #expect(await watcher.next() == "notifying false")
    peripheral.setNotifyValue(true, for: bell)
    #expect(await watcher.next() == "notifying true")
    // The app is busy while they arrive and the connection ends.
    watcher.queue.suspend()
    for number in 1...20 { try await kiosk.bell.notify([UInt8(number)]) }
    central.cancelPeripheralConnection(peripheral)
    #expect(peripheral.state == .disconnecting)
    while await kiosk.lab.adapters[1].holdings().links != 0 { await Task.yield() }
    watcher.queue.resume()
    let values = await watcher.until("disconnected disconnected -1")
    #expect(values == values.indices.map { "value [\($0 + 1)]" })
    #expect(!bell.isNotifying)
    #expect(await kiosk.isAbandoned())
    watcher.queue.sync { watcher.note("nothing after the end") }
    #expect(await watcher.next() == "nothing after the end")
    try await kiosk.lab.stop()
  }

  @Test("Writes without response keep their order, and the app is told when there is room again")
  func writesWithoutResponse() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let (central, peripheral) = try await kiosk.connectedCentral(watcher)
    let drop = try await kiosk.characteristic("2A58", of: peripheral, watcher)
    #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 512)
    var waits = 0
    for number in 0..<100 {
      if !peripheral.canSendWriteWithoutResponse {
        #expect(await watcher.next() == "ready")
        waits += 1
      }
      peripheral.writeValue(Data([UInt8(number)]), for: drop, type: .withoutResponse)
    }
    #expect(waits > 0)
    var dropped = kiosk.dropped.stream.makeAsyncIterator()
    for number in 0..<100 { #expect(await dropped.next() == [UInt8(number)]) }
    withExtendedLifetime(central) {}
    try await kiosk.lab.stop()
  }

  @Test("An attempt to connect waits for its device, and ends when it is cancelled")
  func cancelledAttempt() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let central = kiosk.central(watcher)
    #expect(await watcher.next() == "state poweredOn")
    let absent = try #require(UUID(uuidString: "ED6EB10E-0000-8000-8000-C00000000001"))
    let device = try #require(central.retrievePeripherals(withIdentifiers: [absent, UUID()]).first)
    #expect(device.identifier == absent)
    central.connect(device)
    #expect(device.state == .connecting)
    central.cancelPeripheralConnection(device)
    #expect(await watcher.next() == "disconnected disconnected -1")
    #expect(await kiosk.isAbandoned())

    kiosk.lab.adapters[1].inject(.connectHangs)
    central.scanForPeripherals(withServices: nil)
    #expect(await watcher.next() == #"found Kiosk ["180D"] -55"#)
    central.stopScan()
    let kioskDevice = try #require(watcher.peripheral.withLock { $0 })
    central.connect(kioskDevice)
    while await kiosk.lab.adapters[1].holdings().links == 0 { await Task.yield() }
    // The app asks for a new connection before it can have heard of the end of this one.
    watcher.queue.suspend()
    central.cancelPeripheralConnection(kioskDevice)
    central.connect(kioskDevice)
    #expect(kioskDevice.state == .connecting)
    watcher.queue.resume()
    let ended = await watcher.next()
    #expect(ended == "disconnected connecting -1")
    kiosk.lab.adapters[1].repair()
    #expect(await watcher.next() == "connected connected")
    try await kiosk.lab.stop()
  }

  @Test("A lost connection, the adapter's power and a restart of bluetoothd each disconnect with an error")
  func losses() async throws {
    let kiosk = try await Kiosk.open(.init(version: BlueZRelease(5, 83)))
    let watcher = Watcher()
    let (central, peripheral) = try await kiosk.connectedCentral(watcher)
    peripheral.discoverServices(nil)
    #expect(await watcher.next() == #"services ["180D"]"#)
    await kiosk.lab.adapters[1].loseConnections()
    let loss = await watcher.next()
    #expect(loss == "disconnected disconnected -1 CBErrorDomain 6")

    central.connect(peripheral)
    #expect(await watcher.next() == "connected connected")
    await kiosk.lab.adapters[1].switchOff()
    let told = [await watcher.next(), await watcher.next()].compactMap { $0 }.sorted()
    #expect(told.last == "state poweredOff")
    #expect(told.first?.hasPrefix("disconnected disconnected -1 CBErrorDomain") == true)
    central.connect(peripheral)
    #expect(peripheral.state == .disconnected)
    await kiosk.lab.adapters[1].switchOn()
    #expect(await watcher.next() == "state poweredOn")

    central.connect(peripheral)
    #expect(await watcher.next() == "connected connected")
    try await kiosk.lab.restart()
    let lost = await watcher.until("state poweredOn").filter { !$0.hasPrefix("state") }
    #expect(lost == ["disconnected disconnected -1 CBErrorDomain 7"])
    central.connect(peripheral)
    #expect(await watcher.next() == "connected connected")
    try await kiosk.lab.stop()
  }

  @Test("A manager that is released leaves no scan and no connection")
  func released() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let peripheral = try await { () -> CBPeripheral in
      let (central, peripheral) = try await kiosk.connectedCentral(watcher)
      central.scanForPeripherals(withServices: nil)
      while await kiosk.lab.adapters[1].holdings().scans == 0 { await Task.yield() }
      withExtendedLifetime(central) {}
      return peripheral
    }()
    #expect(await kiosk.isAbandoned())
    #expect(peripheral.state != .connected)
    try await kiosk.lab.stop()
  }

  @Test("A connection ends with the last reference to its peripheral")
  func releasedPeripheral() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let central = try await kiosk.connectedCentral(watcher).0
    #expect(await kiosk.lab.adapters[1].holdings().links == 1)
    watcher.peripheral.withLock { $0 = nil }
    #expect(await kiosk.isAbandoned())
    withExtendedLifetime(central) {}
    try await kiosk.lab.stop()
  }

  @Test("A connection that is to be renewed is made again until the app ends it")
  func renewed() async throws {
    let kiosk = try await Kiosk.open()
    let watcher = Watcher()
    let (central, peripheral) = try await kiosk.connectedCentral(watcher)
    central.cancelPeripheralConnection(peripheral)
    #expect(await watcher.next() == "disconnected disconnected -1")
    central.connect(peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
    for _ in 1...2 {
      #expect(await watcher.next() == "connected connected")
      await kiosk.lab.adapters[1].loseConnections()
      #expect(await watcher.next() == "disconnected connecting -1 CBErrorDomain 7")
    }
    #expect(await watcher.next() == "connected connected")
    central.cancelPeripheralConnection(peripheral)
    #expect(await watcher.next() == "disconnected disconnected -1")
    #expect(await kiosk.isAbandoned())
    try await kiosk.lab.stop()
  }
}
