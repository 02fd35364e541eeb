import BlueZ
import Streams
import Testing

/// L2CAP channels between two adapters.
extension RadioTests {
  @Suite("L2CAP channels", .paired) struct Channels {
    private func pair() throws -> ChannelPair { try #require(Paired.pair) }

    @Test("A channel carries one MiB each way", .timeLimit(.minutes(5)))
    func aMebibyteEachWay() async throws {
      let (host, guest) = try await pair().open(mtu: 4096)
      #expect(host.peer.address == (try await Radio.adapter(Radio.mac)).address)
      #expect(guest.peer == (try pair()).device.peer)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (from, to) in [(host, guest), (guest, host)] {
          group.addTask { try await Pattern.send(1 << 20, to: from, in: 4096) }
          group.addTask { try await Pattern.expect(1 << 20, from: to) }
        }
        try await group.waitForAll()
      }
    }

    @Test("Packets keep their boundaries", .timeLimit(.minutes(5)))
    func packetsKeepTheirBoundaries() async throws {
      let (host, guest) = try await pair().open(mtu: 23, guestMTU: 300)
      #expect((host.receiveMTU, host.sendMTU) == (23, 300))
      #expect((guest.receiveMTU, guest.sendMTU) == (300, 23))
      async let sent: Void = {
        for number in 0..<800 { try await host.send(Pattern.bytes(number..<number + 1 + number % 300)) }
      }()
      var packets = guest.packets.makeAsyncIterator()
      for number in 0..<800 {
        let packet = try await packets.next()
        try #require(packet == Pattern.bytes(number..<number + 1 + number % 300), "packet \(number)")
      }
      try await sent
      for size in [0, 301] {
        let error = await #expect(throws: BlueZError.self) { try await host.send(Pattern.bytes(0..<size)) }
        #expect(error?.code == .invalidArgument)
      }
    }

    /// On btvirt 350 PDUs for one packet, and so more than the kernel's send buffer takes unless it is told to.
    @Test("The longest packets arrive whole", .timeLimit(.minutes(5)))
    func theLongestPackets() async throws {
      let (host, guest) = try await pair().open(mtu: 65535)
      var size = 65535
      if try Radio.isLab && !Capability.netAdmin.isThere {
        let error = await #expect(throws: BlueZError.self) { try await host.send(Pattern.bytes(0..<65535)) }
        #expect(error?.code == .invalidArgument)
        // More than half of the buffer.
        size = 50_000
      }
      let count = size * 5
      let sending = Task { [size] in try await Pattern.send(count, to: host, in: size) }
      try await Pattern.expect(count, from: guest)
      try await sending.value
    }

    @Test("A slow reader suspends the sender and loses nothing", .timeLimit(.minutes(5)))
    func aSlowReaderHoldsTheSenderUpAndLosesNothing() async throws {
      let (host, guest) = try await pair().open()
      let count = 2 << 20
      let progress = Lock(0)
      async let sent: Void = Pattern.send(count, to: host, in: host.sendMTU) { sent in progress.withLock { $0 = sent } }
      var stalledAt = -1
      while progress.withLock({ $0 }) > stalledAt {
        stalledAt = progress.withLock { $0 }
        try await ContinuousClock().sleep(for: .milliseconds(500))
      }
      let error = await #expect(throws: BlueZError.self) { try await host.send([0], timeout: .milliseconds(50)) }
      #expect(error?.code == .timedOut)
      // What waits is in the kernel's two buffers, of some 200 kB each with the overhead.
      #expect(stalledAt > 0)
      #expect(stalledAt < count / 2)
      try await Pattern.expect(count, from: guest)
      try await sent
    }

    @Test("Two channels to one device work at once", .timeLimit(.minutes(5)))
    func twoChannelsAtOnce() async throws {
      let first = try await pair().open()
      let second = try await pair().open(mtu: 500)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await Pattern.send(100_000, to: first.host, in: 2048) }
        group.addTask { try await Pattern.send(50_000, to: second.guest, in: 77) }
        group.addTask { try await Pattern.expect(100_000, from: first.guest) }
        group.addTask { try await Pattern.expect(50_000, from: second.host) }
        try await group.waitForAll()
      }
      first.host.close()
      var packets = first.guest.packets.makeAsyncIterator()
      #expect(try await packets.next() == nil)
      try await second.host.send([1])
      var others = second.guest.packets.makeAsyncIterator()
      #expect(try await others.next() == [1])
    }

    @Test("Bytes that were flushed before a close arrive", .timeLimit(.minutes(5)))
    func whatWasFlushedBeforeACloseArrives() async throws {
      let (host, guest) = try await pair().open()
      try await Pattern.send(20_000, to: host, in: 1000)
      try await host.flush()
      host.close()
      host.close()
      var got: [UInt8] = []
      for try await packet in guest.packets { got += packet }
      let isWhole = got == Pattern.bytes(0..<20_000)
      #expect(isWhole)
      let error = await #expect(throws: BlueZError.self) { try await guest.send([1]) }
      #expect(error?.code == .notConnected)
      await #expect(throws: BlueZError.self) { try await guest.flush() }
      var packets = host.packets.makeAsyncIterator()
      #expect(try await packets.next() == nil)
      #expect(throws: BlueZError.self) { try host.phy }
    }

    @Test("A peer that closes wakes a waiting sender", .timeLimit(.minutes(5)))
    func aPeerThatClosesWakesAWaitingSender() async throws {
      let (host, guest) = try await pair().open()
      let sending = Task { try await Pattern.send(2 << 20, to: host, in: 2048) }
      var packets = guest.packets.makeAsyncIterator()
      for _ in 0..<10 { #expect(try await packets.next()?.count == 2048) }
      guest.close()
      let error = await #expect(throws: BlueZError.self) { try await sending.value }
      #expect(error?.code == .notConnected)
    }

    @Test("A channel closes with the last reference to it", .timeLimit(.minutes(5)))
    func theLastReferenceClosesAChannel() async throws {
      let (host, guest): (L2CAPChannel, L2CAPChannel?)
      (host, guest) = try await pair().open()
      try await guest?.send([7])
      var kept = guest?.packets
      #expect(kept != nil)
      kept = nil
      _ = consume guest
      var packets = host.packets.makeAsyncIterator()
      #expect(try await packets.next() == [7])
      #expect(try await packets.next() == nil)
    }

    /// The kernel alone would forget them.
    @Test("Bytes of a peer that left before it was accepted are still read", .timeLimit(.minutes(5)))
    func whoIsGoneBeforeItIsTakenIsStillHeard() async throws {
      let device = try pair().device
      let listener = try pair().host.listen()
      var guests: [L2CAPChannel] = []
      for number in 0..<UInt8(4) {
        let guest = try await device.openChannel(psm: listener.psm)
        try await guest.send([number])
        try await guest.flush()
        guests.append(guest)
      }
      try await ContinuousClock().sleep(for: .milliseconds(300))
      for guest in guests { guest.close() }
      try await ContinuousClock().sleep(for: .milliseconds(300))
      var channels = listener.makeAsyncIterator()
      for number in 0..<UInt8(4) {
        var got: [[UInt8]] = []
        for try await packet in try #require(try await channels.next()).packets { got.append(packet) }
        #expect(got == [[number]])
      }
    }

    @Test("A channel reports the parameters of its link") func whatALinkSaysOfItself() async throws {
      let (host, guest) = try await pair().open()
      #expect(try host.security == .low)
      // btvirt changes no PHY, and so the kernel knows none.
      #expect(try guest.phy == (nil, nil))
    }

    @Test("A listener ends when it is closed", .timeLimit(.minutes(5)))
    func aListenerEndsWithClose() async throws {
      let listener = try pair().host.listen()
      #expect((0x80...0xff).contains(listener.psm))
      async let taken = listener.reduce(into: []) { $0.append($1) }
      let channel = try await pair().device.openChannel(psm: listener.psm)
      listener.close()
      #expect(try await taken.count <= 1)
      channel.close()
      let error = await #expect(throws: BlueZError.self) {
        try await self.pair().device.openChannel(psm: listener.psm)
      }
      #expect(error?.code == .channelRefused)
    }

    @Test("A PSM belongs to one listener", .timeLimit(.minutes(5)))
    func aPSMIsOneListeners() async throws {
      let host = try pair().host
      let listener = try host.listen(psm: 0xc0)
      #expect(listener.psm == 0xc0)
      let error = #expect(throws: BlueZError.self) { try host.listen(psm: 0xc0) }
      #expect(error?.code == .psmInUse)
      listener.close()
      try host.listen(psm: 0xc0).close()
    }

    @Test("An assigned PSM needs a privilege") func anAssignedPSMNeedsAPrivilege() async throws {
      if try Capability.netBindService.isThere {
        #expect(try pair().host.listen(psm: 0x25).psm == 0x25)
      } else {
        let error = #expect(throws: BlueZError.self) { try self.pair().host.listen(psm: 0x25) }
        #expect(error?.code == .notPermitted)
      }
    }

    @Test("Connections beyond the backlog are refused and succeed later", .timeLimit(.minutes(5)))
    func moreThanTheBacklogAreRefusedAndServedLater() async throws {
      let host = try pair().host
      let device = try pair().device
      let listener = try host.listen(backlog: 1)
      var waiting: [L2CAPChannel] = []
      let error = await #expect(throws: BlueZError.self) {
        while waiting.count < 10 { waiting.append(try await device.openChannel(psm: listener.psm)) }
      }
      #expect(error?.code == .channelRefused)
      var channels = listener.makeAsyncIterator()
      for channel in waiting {
        try await channel.send([1])
        var packets = try #require(try await channels.next()).packets.makeAsyncIterator()
        #expect(try await packets.next() == [1])
      }
      _ = try await device.openChannel(psm: listener.psm)
    }

    @Test("Cancelled waits end at once", .timeLimit(.minutes(5)))
    func cancelledWaitsEnd() async throws {
      let (host, guest) = try await pair().open()
      let reading = Task { for try await _ in guest.packets {} }
      let listener = try pair().host.listen()
      let listening = Task { for try await _ in listener {} }
      let sending = Task { while true { try await guest.send(Array(repeating: 0, count: 2048)) } }
      for task in [reading, listening] {
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      try await ContinuousClock().sleep(for: .milliseconds(500))
      sending.cancel()
      await #expect(throws: CancellationError.self) { try await sending.value }
      // Nothing of it is lost, and the channel is as good as before.
      async let sent: Void = host.send([1])
      var packets = guest.packets.makeAsyncIterator()
      #expect(try await packets.next() == [1])
      try await sent
    }
  }
}
