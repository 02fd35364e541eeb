import BlueZTesting
import Testing

@testable import BlueZ

/// Tests of a session whose program needed a link for less time than its peer to respond, on a kernel that crashes when
/// it ends before.
extension ContractTests {
  private func withBriefLink(
    patience: Duration, _ fault: Fault, _ body: (FakeBlueZ, Session) async throws -> Void
  ) async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    central.core.state.withLock { $0.disconnections.responseTimeout = patience }
    let opened = try await Parlour().open(on: phone)
    let listener = try phone.listen()
    let device = try await firstSeen(by: central)
    lab.adapters[1].inject(fault)
    let channel = try await device.openChannel(psm: listener.psm)
    await settled { device.isConnected }
    channel.close()
    try await body(lab, central.session)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A session ends when bluetoothd has read the services over its link, and may end it") func endOfABriefLink()
    async throws
  {
    try await withBriefLink(patience: .seconds(3600), .slowServices(.milliseconds(300))) { lab, session in
      await session.end()
      #expect(await lab.adapters[1].holdings().links == 0)
    }
  }

  @Test("A link outlives a session that is closed, until its peer has responded") func closeOfABriefLink() async throws
  {
    try await withBriefLink(patience: .seconds(3600), .slowServices(.milliseconds(300))) { lab, session in
      session.close()
      await settled { await lab.adapters[1].holdings().links == 0 }
      // What was closed has nothing more to wait for.
      await session.end()
    }
  }

  @Test("The end of a session waits for no link that is lost meanwhile") func lostBriefLink() async throws {
    try await withBriefLink(patience: .seconds(3600), .servicesNeverResolve(times: 1)) { lab, session in
      let ending = Task { await session.end() }
      #expect(await lab.adapters[1].holdings().links == 1)
      await lab.adapters[0].loseConnections()
      await ending.value
    }
  }

  @Test("A link whose peer never responds ends after the timeout") func muteBriefLink() async throws {
    try await withBriefLink(patience: .milliseconds(100), .servicesNeverResolve(times: 1)) { lab, session in
      await session.end()
      #expect(await lab.adapters[1].holdings().links == 0)
    }
  }

  /// Closes a session, connects in another one while something ends the link that there is, and returns what the other
  /// session saw of the device's link.
  private func links(
    after session: Session, in lab: FakeBlueZ, while end: () async throws -> Void
  ) async throws -> [Bool] {
    let central = try await lab.adapter(1)
    let device = try #require(central.device(try await lab.adapter(0).address))
    #expect(device.isConnected)
    let events = device.events()
    session.close()
    let connection = Task { try await device.connect(.direct(attempts: 1)) }
    try await end()
    _ = try await connection.value
    let seen = events.received
    var links: [Bool] = []
    for await event in events.prefix(seen) {
      switch event {
      case .connected: links.append(true)
      case .disconnected: links.append(false)
      default: break
      }
    }
    #expect(device.isConnected)
    central.session.close()
    return links
  }

  @Test("The next session of a program does not use a link that the last one is ending") func nextSession() async throws
  {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    try await central.find(phone.address).connect()
    lab.adapters[1].inject(.slowDisconnects(.seconds(3600)))
    let links = try await links(after: central.session, in: lab) { lab.adapters[1].repair() }
    #expect(links == [false, true])
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("The next session of a program does not use a link that waits for its peer") func nextSessionOfABriefLink()
    async throws
  {
    try await withBriefLink(patience: .seconds(3600), .servicesNeverResolve(times: 1)) { lab, session in
      let links = try await links(after: session, in: lab) { await lab.adapters[0].loseConnections() }
      #expect(links == [false, true])
    }
  }

  @Test("A link that another program keeps is used after a while, and the next one at once") func keptByAnother()
    async throws
  {
    let late = LateDisconnections(limit: .milliseconds(50))
    let link = LateDisconnections.Link(bus: .system, device: "/org/bluez/hci0/dev_00_00_00_00_00_01")
    late.begin([link])
    #expect(late.isUnderWay(link, isConnected: false))
    late.request(link, wasUnanswered: true)
    #expect(!late.isUnderWay(link, isConnected: false))
    await settled { !late.isUnderWay(link, isConnected: true) }
    late.request(link, wasUnanswered: false)
    late.disconnected(link)
    #expect(!late.isUnderWay(link, isConnected: true))
  }
}
