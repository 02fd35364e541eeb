import DeterministicTesting
import EdgeCoderTesting
import Streams
import SystemTesting
import Testing

@testable import EdgeCoder

@Suite("The v2 mux over GATT", .timeLimit(.minutes(5))) struct MuxValueTests {
  /// Those of `docs/v2-mux.md`.
  @Test("The vectors of the specification hold") func vectors() throws {
    let vectors: [(MuxValue, [UInt8])] = [
      (MuxValue(mux: 0x1234, kind: .piece, bytes: [1, 0]), [0x34, 0x12, 0, 0, 1, 0]),
      (MuxValue(mux: 0x1234, kind: .last, number: 1, bytes: [0x9f]), [0x34, 0x12, 1, 1, 0x9f]),
      (MuxValue(mux: 0x1234, kind: .credit, number: 16), [0x34, 0x12, 2, 16]),
      (MuxValue(mux: 0x1234, kind: .close), [0x34, 0x12, 3, 0]),
    ]
    for (value, bytes) in vectors {
      #expect(value.encoded == bytes)
      #expect(MuxValue(bytes) == value)
    }
    for bytes: [UInt8] in [[], [0, 0, 0], [0, 0, 4, 0], [0, 0, 255, 0, 1]] { #expect(MuxValue(bytes) == nil) }
    #expect(MuxOffer([2, 3, 0x80, 0]) == MuxOffer(psm: 0x80, hasValues: true))
    #expect(MuxOffer(psm: nil, hasValues: true).bytes == [2, 2, 0, 0])
  }

  /// Whatever the order within a window, the frames come whole, and nobody has more on the way than the window.
  @Test("Frames are joined from values in any order", arguments: 0..<20) func framesComeWholeInAnyOrder(seed: Int)
    throws
  {
    var random = SeededGenerator(seed: UInt64(seed))
    var sender = MuxValueFlow(mux: 7, frameLimit: 2048)
    var receiver = MuxValueFlow(mux: 7, frameLimit: 2048)
    let frames = (0..<60).map { _ in
      (0..<Int.random(in: 1...2048, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    var (onTheirWay, received): ([MuxValue], [[UInt8]]) = ([], [])
    func arrive() throws {
      let value = onTheirWay.remove(at: Int.random(in: onTheirWay.indices, using: &random))
      received += try receiver.receive(value)
      if let credit = receiver.creditDue() { try sender.grant(credit.number) }
    }
    for frame in frames {
      sender.send(frame)
      while !sender.isSpent {
        if let value = sender.next(limit: Int.random(in: 20...512, using: &random)) { onTheirWay.append(value) }
        #expect(onTheirWay.count <= MuxValueFlow.window)
        if onTheirWay.count == MuxValueFlow.window || Bool.random(using: &random) { try arrive() }
      }
    }
    while !onTheirWay.isEmpty { try arrive() }
    #expect(received == frames)
  }

  @Test("A violation of the credit is detected") func whoDoesNotKeepToTheCreditIsNoticed() throws {
    var flow = MuxValueFlow(mux: 7, frameLimit: 100)
    #expect(throws: MalformedFrame.self) { try flow.grant(1) }
    #expect(throws: MalformedFrame.self) { try flow.receive(MuxValue(mux: 7, kind: .last, number: 32)) }
    _ = try flow.receive(MuxValue(mux: 7, kind: .last, number: 1))
    #expect(throws: MalformedFrame.self) { try flow.receive(MuxValue(mux: 7, kind: .last, number: 1)) }
    let long = MuxValue(mux: 7, kind: .piece, number: 0, bytes: Array(repeating: 0, count: 101))
    #expect(throws: MalformedFrame.self) { try flow.receive(long) }
  }

  /// What a channel hands to its bearer goes to the other's `deliver`, unless the test takes it away.
  @Test("A sender waits for credit and fails when the mux closes") func aSenderWaitsForCreditAndIsToldOfTheEnd()
    async throws
  {
    let sent = Lock<[MuxValue]>([])
    let ends = Counter()
    let channel = GATTMuxChannel(
      mux: 7, peer: PeerID("x"),
      bearer: .init(
        valueLimit: { 20 }, send: { bytes in sent.withLock { $0 += [MuxValue(bytes)].compactMap { $0 } } },
        onClose: { ends.increment() }))
    // 40 values of 16 bytes.
    let sending = Task { try await channel.send(Array(repeating: 1, count: 640)) }
    try await eventually { sent.withLock { $0.count } == MuxValueFlow.window }
    channel.deliver(MuxValue(mux: 7, kind: .credit, number: 8))
    try await sending.value
    #expect(sent.withLock { $0.count } == 40)
    channel.deliver(MuxValue(mux: 7, kind: .close))
    #expect(try await channel.receive() == nil)
    await #expect(throws: MalformedFrame.self) { try await channel.send([1]) }
    await channel.close()
    #expect(sent.withLock { $0.count } == 40)
    #expect(ends.value == 1)
  }

  /// Where a notification reaches all, each hears its own replies only, and nobody speaks on another's link.
  @Test("Each value belongs to the mux of its writer", arguments: [false, true]) func whoseALinkIs(
    addressesSinglePeer: Bool
  ) async throws {
    let phone = LoopbackPhone(addressesSinglePeer: addressesSinglePeer, muxBearers: [.gatt])
    let service = PhoneService(transport: phone, engine: EchoEngine())
    try await running([service.run]) {
      let centrals = try await withThrowingTaskGroup(of: String.self) { group in
        for name in ["one", "two", "three"] {
          group.addTask {
            let connection = try await phone.connect(PeerID(name), mtu: name == "one" ? 23 : 185)
            let channel = try await connection.openMux(over: .gatt)
            let client = MuxClient(channel, deflates: false, replyLimit: 100_000, time: .continuous)
            let run = Task { await client.run() }
            try await client.waitUntilReady()
            let prompt = String(repeating: name, count: 1000)
            let reply = try await client.exchange(prompt: prompt, maxTokens: 4096).answer.text
            #expect(reply == EchoEngine.prefix + prompt)
            // A stranger uses the number of this link: nobody answers, and the link goes on.
            let number = try #require(channel as? GATTMuxChannel).mux
            let hello = MuxFrame.hello(channel.terms(inflates: false)).encoded()
            let value = MuxValue(mux: number, kind: .last, bytes: Array(hello))
            phone.receive(muxValue: value.encoded, mtu: 185, from: PeerID("stranger"))
            #expect(
              try await client.exchange(prompt: "still", maxTokens: nil).answer.text == EchoEngine.prefix + "still")
            run.cancel()
            return await run.value
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(centrals.count == 3)
      #expect(await service.snapshot().counters.refused.writes == 3)
    }
  }
}
