import BlueZ
import SystemTesting
import Testing

/// What the link under an L2CAP channel does to it.
extension RadioTests {
  @Suite("Connections below L2CAP channels") struct ChannelLinks {
    @Test("The kernel makes a link for a channel, or uses the one that exists", .timeLimit(.minutes(5)))
    func theKernelMakesALinkAndUsesOneThatIsThere() async throws {
      try await ChannelPair.with { pair in
        #expect(!pair.device.isConnected)
        try await Self.expectEcho(pair.open())
        try await pair.device.connect()
        let (host, guest) = try await pair.open()
        try await Self.expectEcho((host, guest))
        let readers = [host, guest].map { channel in Task { for try await _ in channel.packets {} } }
        try await pair.device.disconnect()
        for reader in readers {
          let error = await #expect(throws: BlueZError.self) { try await reader.value }
          #expect(error?.code == .notConnected)
        }
        await #expect(throws: BlueZError.self) { try await guest.send([1]) }
      }
    }

    private static func expectEcho(_ channel: (host: L2CAPChannel, guest: L2CAPChannel)) async throws {
      for (from, to) in [(channel.host, channel.guest), (channel.guest, channel.host)] {
        try await from.send([1, 2, 3])
        #expect(try await to.packets.first { _ in true } == [1, 2, 3])
      }
    }

    /// bluetoothd keeps it when the channel has ended, and the next run would not find a device that no longer advertises.
    @Test("The link that the kernel made for a channel ends with the session", .timeLimit(.minutes(5)))
    func theLinkOfAChannelEndsWithItsSession() async throws {
      try await ChannelPair.with { pair in
        let (host, guest) = try await pair.open()
        try await Self.expectEcho((host, guest))
        let observer = try await Radio.adapter(Radio.mac)
        let peers = [pair.device.peer]
        guest.close()
        #expect(try await host.packets.first { _ in true } == nil)
        try await eventually("the link is known") { observer.connectedPeers == peers }
        let own = try pair.host.listen()
        let another = try await pair.device.openChannel(psm: own.psm)
        // Whether the services have been read or not, which Linux 6.1 needs.
        pair.device.session.close()
        #expect(try await another.packets.first { _ in true } == nil)
        try await eventually("the link ends") { observer.connectedPeers.isEmpty }
        observer.session.close()
      }
    }

    @Test("Connecting a channel to an absent device times out", .timeLimit(.minutes(5)))
    func aDeviceThatIsNotThereIsGivenUp() async throws {
      try await ChannelPair.with { pair in
        let listener = try pair.host.listen()
        try await pair.advertisement.stop()
        let began = ContinuousClock.now
        let error = await #expect(throws: BlueZError.self) {
          try await pair.device.openChannel(psm: listener.psm, timeout: .seconds(1))
        }
        #expect(error?.code == .timedOut)
        let opening = Task { try await pair.device.openChannel(psm: listener.psm) }
        try await ContinuousClock().sleep(for: .milliseconds(300))
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await opening.value }
        #expect(ContinuousClock.now - began < .seconds(4))
        // Nothing of it is left that could be in the way.
        let again = try await pair.host.advertise(.init(name: "channels", services: [ChannelPair.service]))
        _ = try await pair.device.openChannel(psm: listener.psm)
        try await again.stop()
      }
    }

    @Test("The kernel pairs for a channel that demands encryption", .timeLimit(.minutes(5)))
    func theKernelPairsForAChannelThatDemandsIt() async throws {
      let agent = PairingAgent(authorizePairing: { _ in true })
      try await PairingPair.with(central: agent, peripheral: agent) { pair in
        let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
        let listener = try pair.peripheral.listen(security: .medium)
        let channel = try await pair.connect().openChannel(psm: listener.psm)
        #expect(try channel.security == .medium)
        try await channel.send([1])
        let taken = try #require(try await listener.first { _ in true })
        #expect(try await taken.packets.first { _ in true } == [1])
        #expect(try taken.security == .medium)
        try await window.close()
      }
    }

    @Test(
      "A channel survives a restart of bluetoothd", .enabled(if: Radio.isLab, Radio.labNeeded), .timeLimit(.minutes(5)))
    func aRestartOfBluetoothdIsNotNoticed() async throws {
      try await ChannelPair.with { pair in
        let listener = try pair.host.listen()
        let guest = try await pair.device.openChannel(psm: listener.psm)
        var channels = listener.makeAsyncIterator()
        let host = try #require(try await channels.next())
        try await Radio.fault("bluetoothd", "kill")
        try await Self.expectEcho((host, guest))
        try await Radio.fault("bluetoothd", "start")
        try await Self.expectEcho((host, guest))
        host.close()
        var packets = guest.packets.makeAsyncIterator()
        #expect(try await packets.next() == nil)
      }
    }
  }
}
