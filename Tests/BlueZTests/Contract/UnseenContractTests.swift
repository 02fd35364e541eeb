import BlueZ
import BlueZTesting
import Testing

/// Tests of connections to devices that bluetoothd does not know, without a scan.
extension ContractTests {
  private func withoutScan() async throws -> FakeBlueZ {
    var configuration = FakeBlueZ.Configuration()
    configuration.connectsWithoutScan = true
    return try await FakeBlueZ.start(configuration)
  }

  @Test("A device that was never seen is connected by its address and type, and the adapter does not scan")
  func unseenDevice() async throws {
    let lab = try await withoutScan()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let scans = central.values(of: \.isDiscovering)
    let connection = try await central.connect(to: phone.address, type: .public)
    let device = try await connection.device()
    #expect(try await device.characteristic(Parlour.box, in: Parlour.service).read().count == 18)
    // bluetoothd knows it now, and connects as usual.
    await lab.adapters[1].loseConnections()
    _ = try await central.connect(to: phone.address, type: .public)
    central.session.close()
    var seen: [Bool] = []
    for await isScanning in scans { seen.append(isScanning) }
    #expect(seen == [false])
    await settled { await lab.adapters[1].holdings().links == 0 }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("Where bluetoothd has no ConnectDevice, the adapter scans for the device")
  func unseenDeviceWithScan() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let scans = central.values(of: \.isDiscovering)
    _ = try await central.connect(to: phone.address, type: .public)
    central.session.close()
    var seen: [Bool] = []
    for await isScanning in scans { seen.append(isScanning) }
    #expect(seen.contains(true))
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A device that does not advertise is refused in time, and one that is refused has the reason")
  func unseenDeviceThatIsAbsent() async throws {
    let lab = try await withoutScan()
    let central = try await lab.adapter(1)
    let options = ConnectOptions.direct(timeout: .milliseconds(50), attempts: 1)
    #expect(
      try await code { try await central.connect(to: lab.adapters[0].address, type: .public, options) } == .timedOut)
    await settled { await lab.adapters[1].holdings().links == 0 }
    let patient = ConnectOptions.direct(attempts: 1)
    #expect(
      try await code { try await central.connect(to: lab.adapters[0].address, type: .public, patient) }
        == .connectFailed)
    try await lab.stop()
  }

  /// The ways to lose interest in an attempt that bluetoothd cannot withdraw.
  enum LostInterest: CaseIterable, Sendable {
    case cancelled, closed
  }

  @Test("The link of an attempt that nobody waits for any more is ended", arguments: LostInterest.allCases)
  func abandonedUnseenAttempts(_ interest: LostInterest) async throws {
    let lab = try await withoutScan()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    var events = phone.connectionEvents().makeAsyncIterator()
    let attempt = Task { try await central.connect(to: phone.address, type: .public) }
    await settled { await lab.adapters[1].holdings().links == 1 }
    switch interest {
    case .cancelled:
      attempt.cancel()
      await #expect(throws: CancellationError.self) { try await attempt.value }
    case .closed:
      central.session.close()
      #expect(try await code { try await attempt.value } == .serviceUnavailable)
    }
    let opened = try await Parlour().open(on: phone)
    guard case .connected = await events.next(), case .disconnected = await events.next() else {
      Issue.record("the link was not made, or did not end")
      return
    }
    await settled { await lab.adapters[1].holdings().links == 0 }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("An attempt joins the one before it that bluetoothd is still making")
  func joinedUnseenAttempts() async throws {
    let lab = try await withoutScan()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    // More attempts than a busy machine needs until the phone is there.
    let options = ConnectOptions.direct(timeout: .milliseconds(100), attempts: 1000, backoff: .milliseconds(1))
    var events = phone.connectionEvents().makeAsyncIterator()
    let attempt = Task { try await central.connect(to: phone.address, type: .public, options) }
    try await Task.sleep(for: .milliseconds(250))
    let opened = try await Parlour().open(on: phone)
    let connection = try await attempt.value
    #expect(try await connection.device().isConnected)
    guard case .connected = await events.next() else {
      Issue.record("the link was not the first event")
      return
    }
    central.session.close()
    await settled { await lab.adapters[1].holdings().links == 0 }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A reply that is noticed after the end of the bluetoothd that sent it makes no lease on a link of the next one")
  func replyOfAnEarlierInstance() async throws {
    let lab = try await withoutScan()
    let way = try HeldBus(to: lab.bus)
    defer { way.release() }
    let phone = try await lab.adapter(0)
    let session = try await Session.open(bus: way.bus, version: lab.configuration.version)
    let central = try await session.adapter(lab.adapters[1].name)
    let attempt = Task { try await central.connect(to: phone.address, type: .public, .direct(attempts: 1)) }
    await settled { await lab.adapters[1].holdings().links == 1 }
    // The attempt has a connection of its own, after that of the session.
    way.hold(1)
    let opened = try await Parlour().open(on: phone)
    await settled { way.isHolding }
    try await lab.restart()
    let other = try await lab.adapter(1)
    let link = try await other.connect(to: phone.address)
    await settled { central.device(phone.address)?.isConnected == true }
    way.release()
    #expect(try await code { try await attempt.value } == .serviceUnavailable)
    session.close()
    // A call of the same bus later, so that a request to end the link would have been served.
    _ = try await lab.adapter(1).discover()
    #expect(await lab.adapters[1].holdings().links == 1)
    withExtendedLifetime((opened, link)) {}
    try await lab.stop()
  }

  @Test("A kept connection that waits for its next attempt notices a link that another program made")
  func linksOfOthersEndTheDelay() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    _ = try await firstSeen(by: central)
    lab.adapters[1].inject(.connectAborts(times: 1))
    let hour = ConnectOptions.keepConnected(backoff: .seconds(3600), longestDelay: .seconds(3600))
    let kept = try await central.connect(to: phone.address, hour)
    for await case .waiting in kept.states() { break }
    let other = try await lab.adapter(1)
    _ = try await other.connect(to: phone.address)
    _ = try await kept.device()
    await kept.end()
    other.session.close()
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("bluetoothd says which conditions of a scan it compares")
  func discoveryConditions() async throws {
    let lab = try await FakeBlueZ.start()
    let conditions = try await lab.adapter(0).discoveryConditions()
    #expect(conditions.isSuperset(of: [.services, .minimumRSSI, .maximumPathLoss, .pattern, .transport, .duplicates]))
    #expect(conditions.contains(.discoverable))
    try await lab.stop()
  }
}
