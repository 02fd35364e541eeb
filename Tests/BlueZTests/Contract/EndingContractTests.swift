import BlueZ
import BlueZTesting
import Testing

/// Tests of declarations that are cancelled, and of those that end while they are being restored.
extension ContractTests {
  /// The ways in which bluetoothd takes its time.
  enum Slowness: String, CaseIterable, Sendable {
    case slow, late

    var fault: Fault {
      switch self {
      case .slow: .slowReplies(.milliseconds(100))
      case .late: .lateReplies(.milliseconds(100))
      }
    }
  }

  @Test("An advertisement whose task was cancelled leaves the air", arguments: Slowness.allCases)
  func cancelledAdvertisements(_ slowness: Slowness) async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    lab.adapters[0].inject(slowness.fault)
    // More than the adapter has room for.
    for number in 0..<6 {
      let attempt = Task { try await phone.advertise(.init(name: "lamp \(number)")) }
      try await Task.sleep(for: .milliseconds(20))
      attempt.cancel()
      await #expect(throws: CancellationError.self) { try await attempt.value }
    }
    lab.adapters[0].repair()
    let last = try await phone.advertise(.init(name: "the last"))
    #expect(await lab.adapters[0].holdings().advertisements == 1)
    try await last.stop()
    #expect(await lab.adapters[0].holdings().advertisements == 0)
    try await lab.stop()
  }

  @Test(
    "An agent, a pairing window, services and a scan whose tasks were cancelled are undone",
    arguments: Slowness.allCases)
  func cancelledDeclarations(_ slowness: Slowness) async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    lab.adapters[0].inject(slowness.fault)
    let attempts = [
      Task { _ = try await phone.session.register(PairingAgent()) },
      Task { _ = try await phone.openPairingWindow(for: .seconds(60)) },
      Task { _ = try await phone.offer([LocalService("180f", characteristics: [])]) },
      Task { _ = try await phone.discover() },
    ]
    try await Task.sleep(for: .milliseconds(20))
    for attempt in attempts { attempt.cancel() }
    for attempt in attempts { await #expect(throws: CancellationError.self) { try await attempt.value } }
    lab.adapters[0].repair()
    await settled { await lab.adapters[0].holdings() == .init() }
    // Nothing is left in the way of the next ones.
    let agent = try await phone.session.register(PairingAgent())
    let window = try await phone.openPairingWindow(for: .seconds(60))
    #expect(await lab.adapters[0].holdings() == .init(agents: 1, isPairable: true))
    try await window.close()
    try await agent.unregister()
    #expect(await lab.adapters[0].holdings() == .init())
    try await lab.stop()
  }

  @Test("Ending a declaration that is being restored waits for the restoration and wins", arguments: Slowness.allCases)
  func endingsDuringRestoration(_ slowness: Slowness) async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let agent = try await phone.session.register(PairingAgent())
    let window = try await phone.openPairingWindow(for: .seconds(60))
    let (application, advertisement) = try await Parlour().open(on: phone)
    var events = phone.session.events().makeAsyncIterator()
    try await lab.kill()
    lab.adapters[0].inject(slowness.fault)
    try await lab.startAgain()
    while let event = await events.next(), event != .serviceUp {}
    try await Task.sleep(for: .milliseconds(20))
    async let endings: [BlueZError.Code?] = [
      code { try await advertisement.stop() }, code { try await application.unregister() },
      code { try await window.close() }, code { try await agent.unregister() },
    ]
    #expect(try await endings == [nil, nil, nil, nil])
    let left = await lab.adapters[0].holdings()
    #expect(left == .init())
    lab.adapters[0].repair()
    // The session can have an agent again.
    try await phone.session.register(PairingAgent()).unregister()
    #expect(await lab.adapters[0].holdings() == .init())
    try await lab.stop()
  }

  @Test("An advertisement that is stopped right after a power cycle is removed from bluetoothd")
  func stopAfterPowerCycle() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    for _ in 0..<3 {
      let advertisement = try await phone.advertise(.init(name: "Lamp"))
      await lab.adapters[0].switchOff()
      await lab.adapters[0].switchOn()
      try await advertisement.stop()
      #expect(await lab.adapters[0].holdings().advertisements == 0)
    }
    try await lab.stop()
  }

  @Test("A wish for power is kept only when it was granted")
  func refusedPower() async throws {
    let lab = try await FakeBlueZ.start(.init(switchesOnAdapters: false))
    let phone = try await lab.adapter(0)
    lab.adapters[0].inject(.blocked)
    await #expect(throws: BlueZError.self) { try await phone.setPowered(true) }
    lab.adapters[0].repair()
    var events = phone.session.events().makeAsyncIterator()
    try await lab.restart()
    while let event = await events.next(), event != .restored {}
    #expect(!phone.isPowered)
    try await phone.setPowered(true)
    try await lab.restart()
    await settled { phone.isPowered }
    try await lab.stop()
  }
}

/// Tests of what ends with the session.
extension ContractTests {
  @Test("Every stream of a session, and every kept connection, ends when it is closed")
  func closeEndsStreams() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let kept = try await central.connect(to: phone.address, .keepConnected())
    let absent = try await central.connect(
      to: try #require(BluetoothAddress("C0:00:00:00:00:01")), .keepConnected())
    let device = try await kept.device()
    let bell = try await device.characteristic(Parlour.bell, in: Parlour.service).notifications()
    let sightings = try await central.discover()
    let session = central.session
    let readers = [
      Task { for await _ in session.events() {} }, Task { for await _ in central.values(of: \.isPowered) {} },
      Task { for await _ in central.connectionEvents() {} }, Task { for await _ in central.newBonds() {} },
      Task { for await _ in device.events() {} }, Task { for await _ in sightings {} },
      Task { for await _ in kept.states() {} }, Task { for await _ in absent.states() {} },
      Task { do { for try await _ in bell {} } catch { Issue.record(error) } },
    ]
    let waiting = Task { try await absent.device() }
    try await Task.sleep(for: .milliseconds(20))
    session.close()
    for reader in readers { await reader.value }
    await #expect(throws: BlueZError.self) { try await waiting.value }
    for connection in [kept, absent] {
      #expect(try await code { try await connection.device() } == .serviceUnavailable)
    }
    // Streams that begin after the end are empty.
    for await event in session.events() { Issue.record("\(event)") }
    for await event in device.events() { Issue.record("\(event)") }
    #expect(try await code { try await central.discover() } == .serviceUnavailable)
    #expect(try await code { try await central.advertise(.init(name: "Lamp")) } == .serviceUnavailable)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }
}

/// Tests of declarations that come while others are restored.
extension ContractTests {
  @Test("An advertisement that is declared during a restoration does not take the place of an earlier one")
  func newDuringRestoration() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    // As many as there is room for.
    var earlier: [Advertisement] = []
    for number in 0..<5 { earlier.append(try await phone.advertise(.init(name: "lamp \(number)"))) }
    for _ in 0..<5 {
      try await lab.kill()
      lab.adapters[0].inject(.slowReplies(.milliseconds(20)))
      var events = phone.session.events().makeAsyncIterator()
      try await lab.startAgain()
      while let event = await events.next(), event != .serviceUp {}
      let late = try await code { try await phone.advertise(.init(name: "late")) }
      #expect(late == .notPermitted)
      lab.adapters[0].repair()
      await settled { await lab.adapters[0].holdings().advertisements == 5 }
    }
    for advertisement in earlier { try await advertisement.stop() }
    #expect(await lab.adapters[0].holdings().advertisements == 0)
    try await lab.stop()
  }
}
