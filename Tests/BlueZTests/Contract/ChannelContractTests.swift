import BlueZ
import BlueZTesting
import Streams
import Testing

/// L2CAP channels over a fake, which has them of its own.
@Suite("L2CAP channels over a fake BlueZ", .timeLimit(.minutes(5)))
struct ChannelContractTests {
  /// Runs a test with a host that advertises, and the same as a device at a guest.
  private func withPair(
    _ body: (_ lab: FakeBlueZ, _ host: Adapter, _ device: Device) async throws -> Void
  ) async throws {
    let lab = try await FakeBlueZ.start()
    let host = try await lab.adapter(0)
    let opened = try await Parlour().open(on: host)
    let device = try await firstSeen(by: try await lab.adapter(1))
    try await body(lab, host, device)
    for session in [host.session, device.session] { session.close() }
    for adapter in lab.adapters { await settled { await adapter.holdings().channels == 0 } }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  /// Opens a channel, and returns both its ends.
  private func open(
    _ host: Adapter, _ device: Device, mtu: Int = L2CAPChannel.defaultMTU, guestMTU: Int = L2CAPChannel.defaultMTU
  ) async throws -> (host: L2CAPChannel, guest: L2CAPChannel) {
    let listener = try host.listen(mtu: mtu)
    let guest = try await device.openChannel(psm: listener.psm, mtu: guestMTU)
    return (try #require(try await listener.first { _ in true }), guest)
  }

  private func packets(of channel: L2CAPChannel) async throws -> [[UInt8]] {
    var all: [[UInt8]] = []
    for try await packet in channel.packets { all.append(packet) }
    return all
  }

  @Test("A channel makes a link, keeps the boundaries of packets, and has the MTU of each end")
  func packetsArrive() async throws {
    try await withPair { lab, host, device in
      let (own, guest) = try await open(host, device, mtu: 23, guestMTU: 300)
      await settled { device.isConnected }
      #expect((own.receiveMTU, own.sendMTU) == (23, 300))
      #expect((guest.receiveMTU, guest.sendMTU) == (300, 23))
      #expect(guest.peer == device.peer)
      await settled { host.device(own.peer)?.address == lab.adapters[1].address }
      #expect(try own.security == .low)
      #expect(try guest.phy == (nil, nil))
      for number in 1...100 { try await own.send(Array(repeating: UInt8(number), count: number * 3)) }
      try await own.flush()
      own.close()
      let lengths = try await packets(of: guest).map(\.count)
      #expect(lengths == (1...100).map { $0 * 3 })
      for size in [0, 24] {
        #expect(try await code { try await guest.send(Array(repeating: 0, count: size)) } == .invalidArgument)
      }
    }
  }

  @Test("A reader that does not read suspends the sender, and loses nothing")
  func slowReader() async throws {
    try await withPair { _, host, device in
      let (own, guest) = try await open(host, device)
      let sent = Lock(0)
      let sending = Task {
        for number in 0..<200 {
          try await own.send(Array(repeating: UInt8(number), count: 2000))
          sent.withLock { $0 += 1 }
        }
        try await own.flush()
      }
      // The buffers of both ends, of 64 KiB each.
      await settled { sent.withLock { $0 } == 66 }
      #expect(try await code { try await own.send([1], timeout: .milliseconds(30)) } == .timedOut)
      #expect(try await code { try await own.flush(timeout: .milliseconds(30)) } == .timedOut)
      var reader = guest.packets.makeAsyncIterator()
      for number in 0..<200 { #expect(try await reader.next() == Array(repeating: UInt8(number), count: 2000)) }
      try await sending.value
    }
  }

  @Test("Packets to an adapter whose channels stall arrive after the repair")
  func stall() async throws {
    try await withPair { lab, host, device in
      let (own, guest) = try await open(host, device)
      lab.adapters[1].inject(.channelsStall)
      try await own.send([1])
      #expect(try await code { try await own.flush(timeout: .milliseconds(30)) } == .timedOut)
      let reading = Task { try await guest.packets.first { _ in true } }
      try await guest.send([2])
      #expect(try await own.packets.first { _ in true } == [2])
      lab.adapters[1].repair()
      #expect(try await reading.value == [1])
      try await own.flush()
    }
  }

  @Test("A PSM without a listener, one in use, an assigned one and a full backlog are refused")
  func refusals() async throws {
    try await withPair { _, host, device in
      #expect(try await code { try await device.openChannel(psm: 0xc0) } == .channelRefused)
      let listener = try host.listen(psm: 0xc0, backlog: 1)
      #expect(try await code { try host.listen(psm: 0xc0) } == .psmInUse)
      #expect(try await code { try host.listen(psm: 0x25) } == .notPermitted)
      // One waits for the program, and as many in the kernel.
      var waiting: [L2CAPChannel] = []
      #expect(
        try await code { while waiting.count < 10 { waiting.append(try await device.openChannel(psm: 0xc0)) } }
          == .channelRefused)
      for (channel, number) in zip(waiting, UInt8(0)...) {
        try await channel.send([number])
        let accepted = try #require(try await listener.first { _ in true })
        #expect(try await accepted.packets.first { _ in true } == [number])
      }
      listener.close()
      #expect(try await code { try await device.openChannel(psm: 0xc0) } == .channelRefused)
      try host.listen(psm: 0xc0).close()
    }
  }

  @Test("A device that does not advertise is waited for, and found when it does")
  func outOfRange() async throws {
    try await withPair { lab, host, device in
      let listener = try host.listen()
      await lab.adapters[0].switchOff()
      let psm = listener.psm
      #expect(
        try await code { try await device.openChannel(psm: psm, timeout: .milliseconds(50)) } == .timedOut)
      let cancelled = Task { try await device.openChannel(psm: psm) }
      let opening = Task { try await device.openChannel(psm: psm) }
      await settled { await lab.adapters[1].holdings().channels == 2 }
      cancelled.cancel()
      await #expect(throws: CancellationError.self) { try await cancelled.value }
      await lab.adapters[0].switchOn()
      _ = try await opening.value
      // A controller that is switched off ends attempts and channels.
      let channel = try await device.openChannel(psm: psm)
      await lab.adapters[1].switchOff()
      #expect(try await code { try await packets(of: channel) } == .notConnected)
    }
  }

  @Test("A channel is encrypted as each end requires, and refused where the keys do not suffice")
  func security() async throws {
    try await withPair { _, host, device in
      let listener = try host.listen(security: .medium)
      let psm = listener.psm
      // Nobody admits a pairing: the kernel waits for one.
      #expect(
        try await code { try await device.openChannel(psm: psm, timeout: .milliseconds(50)) } == .timedOut)
      #expect(try await !device.provides(.medium, timeout: .milliseconds(50)))
      let agent = try await host.session.register(PairingAgent(authorizePairing: { _ in true }))
      let window = try await host.openPairingWindow(for: .seconds(60))
      let channel = try await device.openChannel(psm: psm)
      #expect(try channel.security == .medium)
      await settled { device.isBonded }
      #expect(try await device.provides(.medium))
      #expect(try await !device.provides(.high))
      let demanding = try host.listen(security: .high)
      #expect(try await code { try await device.openChannel(psm: demanding.psm) } == .authenticationFailed)
      try await window.close()
      try await agent.unregister()
      listener.close()
    }
  }
}
