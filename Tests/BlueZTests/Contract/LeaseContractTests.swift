import BlueZTesting
import Testing

@testable import BlueZ

/// Tests of links: who ends them, and when.
extension ContractTests {
  /// Runs a test with a central, and a peripheral that advertises until the test begins.
  private func withLink(
    _ lifetime: LinkLifetime, _ body: (FakeBlueZ, _ central: Adapter, _ device: Device) async throws -> Void
  ) async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let (application, advertisement) = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    _ = try await device.connect(.direct(), lifetime: lifetime)
    // Like a sensor that does not advertise while it is linked.
    try await advertisement.stop()
    try await body(lab, central, device)
    withExtendedLifetime(application) {}
    try await lab.stop()
  }

  @Test("Closing a session ends the links that it made")
  func closeEndsLinks() async throws {
    try await withLink(.session) { lab, central, _ in
      #expect(await lab.adapters[1].holdings().links == 1)
      central.session.close()
      await settled { await lab.adapters[1].holdings().links == 0 }
    }
  }

  @Test("Releasing a session ends the links that it made")
  func releaseEndsLinks() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let opened = try await Parlour().open(on: phone)
    func connect() async throws {
      let device = try await firstSeen(by: try await lab.adapter(1))
      try await device.connect()
      #expect(await lab.adapters[1].holdings().links == 1)
    }
    try await connect()
    await settled { await lab.adapters[1].holdings().links == 0 }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("Closing a session ends an attempt to connect")
  func closeEndsAttempts() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let device = try await firstSeen(by: central)
    lab.adapters[1].inject(.connectHangs)
    let attempt = Task { try await device.connect() }
    await settled { await lab.adapters[1].holdings().links == 1 }
    central.session.close()
    await #expect(throws: BlueZError.self) { try await attempt.value }
    await settled { await lab.adapters[1].holdings().links == 0 }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A kept link outlives its session, and the next session finds its device although it does not advertise")
  func keptLink() async throws {
    try await withLink(.kept) { lab, central, _ in
      central.session.close()
      let next = try await lab.adapter(1)
      let device = try await firstSeen(by: next)
      #expect(device.isConnected)
      try await device.connect()
      #expect(try await device.characteristic(Parlour.box, in: Parlour.service).read().count == 18)
      next.session.close()
      // A call of the same bus later, so that a request to end the link would have been served.
      _ = try await lab.adapter(1).discover()
      #expect(await lab.adapters[1].holdings().links == 1)
    }
  }

  @Test("A session ends the link of another program only when it has taken the link over")
  func linksOfOthers() async throws {
    try await withLink(.session) { lab, _, device in
      let other = try await lab.adapter(1)
      let joined = try await other.connect(to: try #require(device.address), .keepConnected())
      _ = try await joined.device()
      await joined.end()
      other.session.close()
      #expect(device.isConnected)

      let heir = try await lab.adapter(1)
      _ = try await heir.connect(to: try #require(device.address), lifetime: .takenOver)
      heir.session.close()
      await settled { await lab.adapters[1].holdings().links == 0 }
      await settled { !device.isConnected }
    }
  }

  @Test("What ends an attempt of an earlier bluetoothd does not end a link of the next one")
  func anEarlierAttempt() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let opened = try await Parlour().open(on: phone)
    let attempted = try await firstSeen(by: central)
    try await lab.restart()
    let other = try await lab.adapter(1)
    let connection = try await other.connect(to: phone.address)
    await attempted.giveUp()
    #expect(await lab.adapters[1].holdings().links == 1)
    withExtendedLifetime((opened, connection)) {}
    try await lab.stop()
  }
}

/// Waits until something is so; the suite's time limit is the bound.
func settled(_ isSo: () async -> Bool) async {
  while await !isSo() {
    do {
      try await Task.sleep(for: .milliseconds(2))
    } catch {
      return
    }
  }
}
