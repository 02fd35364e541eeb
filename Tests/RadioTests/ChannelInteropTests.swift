import BlueZ
import Testing

/// L2CAP channels with a stack nobody here wrote: Bumble.
extension RadioTests {
  @Suite("L2CAP channels with other stacks", .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded))
  struct ChannelInteroperability {
    static let service: BluetoothUUID = "c0c00002-c0c0-c0c0-c0c0-c0c0c0c00002"

    /// One peer for everything: it takes Python seconds to start in the lab.
    @Test("Channels to and from a Bumble device", .timeLimit(.minutes(5)))
    func aBumbleDevice() async throws {
      let peer = try LabPeer("l2cap_peer.py", ["--timeout", "290"])
      defer { peer.terminate() }
      let adapter = try await peer.adapter()
      _ = try await peer.next("advertising")
      let device = try await adapter.discover(.init(services: [Self.service])).firstDevice("the peer's advertisement")

      try await echoes(device)
      try await oneCreditAtATime(device)
      // The peer's close races with the reading.
      for _ in 0..<20 { try await aFarewellIsHeard(device) }
      try await aBumblePeerConnects(to: adapter, device)
      try await whoDoesNotListenRefuses(device)
      try await device.connect()
      try await echoes(device)
      try await aLostRadioIsNoOrderlyEnd(device)
      try await whoHasNotTheSecurityIsRefused(adapter, device, peer)
    }

    private func echoes(_ device: Device) async throws {
      let channel = try await device.openChannel(psm: 0x80, mtu: 1000)
      #expect(channel.sendMTU == 2048)
      var packets = channel.packets.makeAsyncIterator()
      for size in [1, 2, 247, 248, 1000] {
        try await channel.send(Pattern.bytes(0..<size))
        #expect(try await packets.next() == Pattern.bytes(0..<size))
      }
    }

    /// 23 bytes to a PDU, and one PDU to a credit.
    private func oneCreditAtATime(_ device: Device) async throws {
      let channel = try await device.openChannel(psm: 0x81, mtu: 3000)
      async let sent: Void = Pattern.send(9000, to: channel, in: 3000)
      try await Pattern.expect(9000, from: channel)
      try await sent
      try await channel.flush()
    }

    /// Nothing is lost of what a peer sends before it closes, not even what is empty.
    private func aFarewellIsHeard(_ device: Device) async throws {
      let channel = try await device.openChannel(psm: 0x82)
      var sizes: [Int] = []
      for try await packet in channel.packets { sizes.append(packet.count) }
      #expect(sizes == [100, 100, 100, 0, 100, 100, 100, 100, 100, 0])
    }

    private func aBumblePeerConnects(to adapter: Adapter, _ device: Device) async throws {
      let listener = try adapter.listen(mtu: 600)
      let request = try await device.openChannel(psm: 0x83)
      try await request.send([UInt8(listener.psm)])
      let channel = try #require(try await listener.first { _ in true })
      #expect(channel.peer == device.peer)
      #expect((channel.receiveMTU, channel.sendMTU) == (600, 700))
      var packets = channel.packets.makeAsyncIterator()
      for size in [1, 600] {
        try await channel.send(Pattern.bytes(0..<size))
        #expect(try await packets.next() == Pattern.bytes(0..<size))
      }
    }

    private func whoDoesNotListenRefuses(_ device: Device) async throws {
      let error = await #expect(throws: BlueZError.self) { try await device.openChannel(psm: 0x99) }
      #expect(error?.code == .channelRefused)
    }

    private func aLostRadioIsNoOrderlyEnd(_ device: Device) async throws {
      let channel = try await device.openChannel(psm: 0x84)
      try await channel.send([1])
      let error = await #expect(throws: BlueZError.self) { for try await _ in channel.packets {} }
      #expect(error?.code == .notConnected)
    }

    /// The peer does not pair: neither side gets a channel that demands it.
    private func whoHasNotTheSecurityIsRefused(_ adapter: Adapter, _ device: Device, _ peer: LabPeer) async throws {
      let listener = try adapter.listen(security: .medium)
      let request = try await device.openChannel(psm: 0x83)
      try await request.send([UInt8(listener.psm)])
      #expect(try await peer.next("refused")["psm"] as? Int == Int(listener.psm))
      let error = await #expect(throws: BlueZError.self) { try await device.openChannel(psm: 0x85) }
      #expect(error?.code == .authenticationFailed)
    }
  }
}
