import BlueZ
import BlueZTesting
import Testing

extension ContractTests {
  @Test("A connection that the controller aborts is retried the given number of times")
  func aborts() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    let options = ConnectOptions.direct(attempts: 3, backoff: .milliseconds(1))

    lab.adapters[1].inject(.connectAborts(times: 3))
    #expect(try await code { try await device.connect(options) } == .connectFailed)
    lab.adapters[1].inject(.connectAborts(times: 2))
    _ = try await device.connect(options)
    #expect(device.servicesResolved)

    // A blocked device is not even attempted.
    try await device.setBlocked(true)
    #expect(!device.isConnected)
    #expect(try await code { try await device.connect(options) } == .notPermitted)
    try await device.setBlocked(false)
    _ = try await device.connect(options)
    #expect(device.servicesResolved)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("Missing services and a missing reply time out with the phase in the error")
  func hangs() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    // Long enough for the phases that must succeed on a busy machine.
    let once = ConnectOptions.direct(timeout: .seconds(4), attempts: 1)
    let device = try await firstSeen(by: central)

    // The first failure makes bluetoothd forget the device, which is then discovered again.
    lab.adapters[1].inject(.servicesNeverResolve(times: 1))
    _ = try await device.connect(once)
    try await central.find(phone.address).disconnect()
    lab.adapters[1].inject(.servicesNeverResolve(times: 2))
    let services = await #expect(throws: BlueZError.self) { try await central.find(phone.address).connect(once) }
    #expect(services?.code == .timedOut)
    #expect(services?.message.contains("services") == true)
    #expect(central.connectedPeers.isEmpty)

    lab.adapters[1].inject(.connectHangs)
    let link = await #expect(throws: BlueZError.self) { try await central.find(phone.address).connect(once) }
    #expect(link?.code == .timedOut)
    #expect(link?.message.contains("connecting") == true)

    lab.adapters[1].repair()
    lab.adapters[1].inject(.connectedIsNotSignalled)
    lab.adapters[1].inject(.slowServices(.milliseconds(100)))
    let silent = try await central.find(phone.address)
    _ = try await silent.connect(.direct(attempts: 1))
    #expect(silent.servicesResolved)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A connection that is ending is not reused, and a cancelled task still ends it")
  func endingLink() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    lab.adapters[1].inject(.slowDisconnects(.milliseconds(200)))
    var connection: DeviceConnection? = try await central.connect(to: phone.address, .keepConnected())
    let device = try #require(try await connection?.device())
    let events = device.events()
    connection = nil
    _ = try await device.connect(.direct(attempts: 1))
    let told = events.received
    var links: [Bool] = []
    for await event in events.prefix(told) {
      switch event {
      case .connected: links.append(true)
      case .disconnected: links.append(false)
      default: break
      }
    }
    #expect(links == [false, true])

    let end = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await device.disconnect()
    }
    try await end.value
    #expect(!device.isConnected)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A kept connection is re-established after every fault")
  func kept() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let options = ConnectOptions.keepConnected(backoff: .milliseconds(10), longestDelay: .milliseconds(50))
    let connection = try await central.connect(to: phone.address, options)
    var states = connection.states().makeAsyncIterator()
    func untilConnected() async throws {
      while let state = await states.next() {
        if case .connected(let device) = state {
          return #expect(try await device.characteristic(Parlour.box, in: Parlour.service).read().count == 18)
        }
      }
      throw CancellationError()
    }
    try await untilConnected()
    await lab.adapters[0].loseConnections()
    try await untilConnected()
    try await lab.adapters[0].unplug()
    try await lab.adapters[0].plugIn()
    try await untilConnected()
    await lab.adapters[1].switchOff()
    lab.adapters[1].inject(.connectAborts(times: 2))
    await lab.adapters[1].switchOn()
    try await untilConnected()
    try await lab.restart()
    try await untilConnected()
    await connection.end()
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A discovery that bluetoothd considers running is restarted")
  func inProgress() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    lab.adapters[1].inject(.discoveryInProgress(times: 1))
    #expect(try await firstSeen(by: central).name == "Parlour")
    lab.adapters[0].inject(.discoveryInProgress(times: 2))
    #expect(try await code { try await phone.discover() } == .inProgress)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A discovery that cannot be stopped yet is stopped later")
  func stopInProgress() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    lab.adapters[1].inject(.discoveryGoesOn(times: 2))
    // The scan ends when the device is found.
    #expect(try await firstSeen(by: central).name == "Parlour")
    while central.isDiscovering { try await Task.sleep(for: .milliseconds(1)) }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A scan finds devices although bluetoothd believes in one that has ended")
  func stuckDiscovery() async throws {
    let lab = try await FakeBlueZ.start()
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: try await lab.adapter(0))
    for _ in 0..<2 {
      lab.adapters[1].inject(.discoverySticks(times: 1))
      try await firstSeen(by: central).remove()
      await settled { await lab.adapters[1].holdings().scans == 0 }
      await settled { central.isDiscovering }
    }
    // A scan with the same filter is answered at once, and is none.
    _ = try await firstSeen(by: central)
    await settled { !central.isDiscovering }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A device whose removal bluetoothd ignores is removed by the next call")
  func ignoredRemoval() async throws {
    let lab = try await FakeBlueZ.start()
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: try await lab.adapter(0))
    let device = try await firstSeen(by: central)
    lab.adapters[1].inject(.removalsIgnored(times: 1))
    try await device.remove()
    #expect(central.devices.isEmpty)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("Stalled notifications arrive in order, and a lost connection ends the subscription")
  func notifications() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let parlour = Parlour()
    let opened = try await parlour.open(on: phone)
    let device = try await firstSeen(by: central)
    try await device.connect()
    let bell = try await device.characteristic(Parlour.bell, in: Parlour.service).notifications()
    var heard = bell.makeAsyncIterator()

    lab.adapters[1].inject(.notificationsStall)
    for number: UInt8 in 1...10 { try await parlour.bell.notify([number]) }
    // A read takes the same path and returns, so a value that is missing then is not merely late.
    _ = try await device.characteristic(Parlour.box, in: Parlour.service).read()
    #expect(bell.received == 0)
    lab.adapters[1].repair()
    for number: UInt8 in 1...10 { #expect(try await heard.next() == [number]) }

    lab.adapters[1].inject(.notificationsDrop(every: 2))
    for number: UInt8 in 1...10 { try await parlour.bell.notify([number]) }
    for _ in 1...5 { #expect(try await heard.next() != nil) }
    await lab.adapters[1].loseConnections()
    #expect(try await heard.next() == nil)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("Slow replies are awaited until the timeout")
  func slow() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    try await device.connect()
    let box = try device.characteristic(Parlour.box, in: Parlour.service)
    lab.adapters[1].inject(.slowReplies(.milliseconds(100)))
    #expect(try await code { try await box.read(timeout: .milliseconds(20)) } == .timedOut)
    #expect(try await box.read().count == 18)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }
}

/// Tests of objects that are gone already, and of those that come back in a moment.
extension ContractTests {
  @Test("Ending what is already gone succeeds", arguments: ["bluetoothd", "adapter", "registration"])
  func endings(gone: String) async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let agent = try await phone.session.register(PairingAgent())
    let window = try await phone.openPairingWindow(for: .seconds(60))
    let (application, advertisement) = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    try await device.connect()

    // The calls are under way when their object is removed.
    for adapter in lab.adapters { adapter.inject(.slowReplies(.milliseconds(300))) }
    async let endings: [BlueZError.Code?] = [
      code { try await advertisement.stop() }, code { try await application.unregister() },
      code { try await window.close() }, code { try await agent.unregister() }, code { try await device.disconnect() },
    ]
    switch gone {
    case "bluetoothd": try await lab.kill()
    case "adapter": for adapter in lab.adapters { try await adapter.unplug() }
    default: break
    }
    let codes = try await endings
    #expect(codes == [nil, nil, nil, nil, nil])
    // Again, when there is nothing left to end.
    try await advertisement.stop()
    try await application.unregister()
    try await window.close()
    try await agent.unregister()
    try await device.disconnect()
    #expect(!advertisement.isRunning)
    try await lab.stop()
  }

  @Test("An adapter is awaited after a restart of bluetoothd, but not after it was unplugged")
  func adapterComesBack() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    var events = central.session.events().makeAsyncIterator()
    try await lab.kill()
    // bluetoothd is on the bus before its adapters are.
    try await lab.adapters[1].unplug()
    try await lab.startAgain()
    while let event = await events.next(), event != .serviceUp {}
    #expect(central.alias == nil)
    async let seen = firstSeen(by: central)
    async let renamed: Void = central.setAlias("back")
    try await lab.adapters[1].plugIn()
    let device = try await seen
    #expect(device.name == "Parlour")
    try await renamed
    #expect(central.alias == "back")

    try await lab.adapters[1].unplug()
    while let event = await events.next() { if case .adapterRemoved = event { break } }
    #expect(try await code { try await central.discover() } == .noAdapter)
    #expect(try await code { try await central.setAlias("gone") } == .noAdapter)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }
}
