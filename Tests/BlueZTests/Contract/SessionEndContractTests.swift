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
}
