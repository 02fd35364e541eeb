import BlueZ
import BlueZTesting
import Testing

/// The ends of L2CAP channels over a fake.
@Suite("The ends of L2CAP channels over a fake BlueZ", .timeLimit(.minutes(5)))
struct ChannelEndingContractTests {
  private func withChannel(
    _ body: (_ lab: FakeBlueZ, _ listener: L2CAPListener, _ ends: (host: L2CAPChannel, guest: L2CAPChannel), Device)
      async throws -> Void
  ) async throws {
    let lab = try await FakeBlueZ.start()
    let host = try await lab.adapter(0)
    let opened = try await Parlour().open(on: host)
    let device = try await firstSeen(by: try await lab.adapter(1))
    let listener = try host.listen()
    let guest = try await device.openChannel(psm: listener.psm)
    let own = try #require(try await listener.first { _ in true })
    await settled { device.isConnected }
    try await body(lab, listener, (own, guest), device)
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  /// Reads to the end.
  /// - Returns: The packets, and the code of the error if the end was not in order.
  private func rest(of channel: L2CAPChannel) async throws -> ([[UInt8]], BlueZError.Code?) {
    var all: [[UInt8]] = []
    do {
      for try await packet in channel.packets { all.append(packet) }
      return (all, nil)
    } catch let error as BlueZError {
      return (all, error.code)
    }
  }

  @Test("A channel that the peer closes finishes after what had arrived, and refuses packets")
  func closedByThePeer() async throws {
    try await withChannel { _, _, ends, device in
      try await ends.guest.send([1])
      try await ends.guest.send([2])
      ends.guest.close()
      #expect(try await rest(of: ends.host) == ([[1], [2]], nil))
      #expect(try await code { try await ends.host.send([3]) } == .notConnected)
      #expect(try await code { try await ends.host.flush() } == .notConnected)
      #expect(try await code { try ends.host.security } == .notConnected)
      #expect(try await rest(of: ends.guest) == ([], nil))
      // bluetoothd keeps the link.
      #expect(device.isConnected)
    }
  }

  @Test("A link that is lost or ended ends its channels after what had arrived", arguments: [true, false])
  func lostLink(_ isLost: Bool) async throws {
    try await withChannel { lab, _, ends, device in
      try await ends.guest.send([1])
      try await ends.host.send([2])
      if isLost { await lab.adapters[0].loseConnections() } else { try await device.disconnect() }
      #expect(try await rest(of: ends.host) == ([[1]], .notConnected))
      #expect(try await rest(of: ends.guest) == ([[2]], .notConnected))
      #expect(try await code { try await ends.host.send([3]) } == .notConnected)
    }
  }

  @Test("A channel and a listener survive a restart of bluetoothd")
  func restart() async throws {
    try await withChannel { lab, listener, ends, device in
      var events = device.session.events().makeAsyncIterator()
      try await lab.kill()
      try await ends.guest.send([1])
      #expect(try await ends.host.packets.first { _ in true } == [1])
      try await lab.startAgain()
      while let event = await events.next(), event != .serviceUp {}
      try await ends.host.send([2])
      #expect(try await ends.guest.packets.first { _ in true } == [2])
      let again = try await firstSeen(by: try await lab.adapter(1))
      let channel = try await again.openChannel(psm: listener.psm)
      channel.close()
      // Out of range is out of range, whatever this instance of bluetoothd knows.
      await lab.adapters[0].loseConnections()
      #expect(try await rest(of: ends.guest) == ([], .notConnected))
    }
  }

  @Test("Closing a session ends its channels, listeners and attempts, and the link that the kernel made")
  func closedSession() async throws {
    try await withChannel { lab, listener, ends, device in
      let absent = try #require(BluetoothAddress("C0:00:00:00:00:01"))
      await lab.adapters[1].receiveAdvertisement(of: absent)
      let adapter = try await device.session.adapter(lab.adapters[1].name)
      let other = try await adapter.find(absent)
      let opening = Task { try await other.openChannel(psm: 0x80) }
      let guestListener = try adapter.listen()
      let listening = Task { for try await _ in guestListener {} }
      let reading = Task { try await rest(of: ends.guest) }
      await settled { await lab.adapters[1].holdings().channels == 3 }
      device.session.close()
      #expect(try await code { try await opening.value } == .serviceUnavailable)
      try await listening.value
      #expect(try await reading.value == ([], nil))
      #expect(try await rest(of: ends.host) == ([], nil))
      #expect(try await code { try await ends.guest.send([1]) } == .notConnected)
      await settled { await lab.adapters[1].holdings() == .init() }
      withExtendedLifetime(listener) {}
    }
  }

  @Test("A channel keeps its session, as any handle does, and its last reference closes both")
  func keptSession() async throws {
    let lab = try await FakeBlueZ.start()
    let host = try await lab.adapter(0)
    let opened = try await Parlour().open(on: host)
    let listener = try host.listen()
    func call() async throws -> L2CAPChannel {
      try await firstSeen(by: try await lab.adapter(1)).openChannel(psm: listener.psm)
    }
    func talk() async throws -> L2CAPChannel {
      let guest = try await call()
      let own = try #require(try await listener.first { _ in true })
      try await guest.send([1])
      #expect(try await own.packets.first { _ in true } == [1])
      #expect(await lab.adapters[1].holdings().links == 1)
      return own
    }
    let own = try await talk()
    #expect(try await rest(of: own) == ([], nil))
    await settled { await lab.adapters[1].holdings() == .init() }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("The peer of a channel is its device, also when a bond has resolved its private address")
  func privatePeer() async throws {
    let lab = try await FakeBlueZ.start()
    await lab.adapters[1].setPrivateAddress(BluetoothAddress("4A:00:00:00:00:01"))
    let host = try await lab.adapter(0)
    let agent = try await host.session.register(PairingAgent(authorizePairing: { _ in true }))
    let window = try await host.openPairingWindow(for: .seconds(60))
    let opened = try await Parlour().open(on: host)
    let device = try await firstSeen(by: try await lab.adapter(1))
    let listener = try host.listen()
    try await device.connect()
    let before = try await device.openChannel(psm: listener.psm)
    let stranger = try #require(try await listener.first { _ in true }).peer
    #expect(stranger.address?.description == "4A:00:00:00:00:01")
    try await device.pair()
    await settled { host.device(lab.adapters[1].address) != nil }
    let after = try await device.openChannel(psm: listener.psm)
    let bonded = try #require(try await listener.first { _ in true }).peer
    #expect(bonded == stranger)
    #expect(host.device(bonded)?.address == lab.adapters[1].address)
    withExtendedLifetime((agent, window, opened, before, after)) {}
    try await lab.stop()
  }
}
