import DeterministicTesting
import EdgeCoderTesting
import Streams
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("A central and a phone with a v2 mux, in memory", .timeLimit(.minutes(5))) struct CentralMuxTests {
  private let air = LoopbackCentral()
  private let phone = LoopbackPhone(muxBearers: [.l2cap, .gatt])
  private let engine = GatedEngine()
  private let clock = ManualClock()

  /// - Parameter limits: the central's, and the phone's for its engine; the usual ones where nothing is said.
  private func withBoth(
    over bearer: MuxBearer? = .l2cap, limits: (central: Duration?, phone: Duration?) = (nil, nil),
    time: TimeSource = .continuous, _ body: @Sendable @escaping (Central) async throws -> Void
  ) async throws {
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    limits.central.map { configuration.requests.timeout = $0 }
    var phoneConfiguration = PhoneConfiguration()
    limits.phone.map { phoneConfiguration.timeouts.text = $0 }
    let central = Central(
      scanner: air, connector: air, configuration: configuration, environment: Central.Environment(time: time))
    let service = PhoneService(transport: phone, engine: engine, configuration: phoneConfiguration, time: time)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await eventually {
        await central.status().phones.first.map { $0.state == "ready" && $0.linkBearer == bearer } ?? false
      }
      try await body(central)
    }
  }

  @Test("A reply arrives while it is produced", arguments: MuxBearer.allCases) func aReplyIsHeardWhileItIsMade(
    bearer: MuxBearer
  ) async throws {
    if bearer == .gatt { phone.faults.failingBearers = [.l2cap] }
    try await withBoth(over: bearer) { central in
      let heard = Lock("")
      async let reply = central.generate(prompt: "tell me", maxTokens: 7) { piece in heard.withLock { $0 += piece } }
      let asked = try await engine.next()
      #expect(asked.text == "tell me")
      #expect(asked.maxTokens == 7)
      for piece in ["Once ", "upon ", "a time"] {
        asked.say(piece)
        try await eventually { heard.withLock { $0.hasSuffix(piece) } }
      }
      asked.end()
      let received = try await reply
      #expect(received.output == "Once upon a time")
      #expect(received.ok)
      #expect(received.phone == "phone")
      #expect(phone.sent.allSatisfy { $0.characteristic == .status })
    }
  }

  /// Has the phone say `count` words, one every 25 s: less than a frame may take to be sent, since the frame of a word
  /// that was heard may not have returned to its sender yet.
  private func say(_ count: Int, _ asked: GatedEngine.Prompt, _ heard: Lock<String>) async throws {
    for number in 1...count {
      clock.advance(by: .seconds(25))
      asked.say("\(number) ")
      try await eventually { heard.withLock { $0.hasSuffix("\(number) ") } }
    }
  }

  @Test("A reply in progress does not time out") func aReplyHasTimeWhileItComes() async throws {
    try await withBoth(time: TimeSource(clock)) { central in
      let heard = Lock("")
      async let reply = central.generate(prompt: "x", maxTokens: nil) { piece in heard.withLock { $0 += piece } }
      let asked = try await engine.next()
      try await say(22, asked, heard)
      asked.end()
      let received = try await reply
      #expect(received.ok)
      #expect(received.output == (1...22).map { "\($0) " }.joined())
    }
  }

  /// Where the one waits for longer it is the other that gives up.
  @Test(
    "The central times out a reply that stops or has no end",
    arguments: [
      (1, 90, "no more text within 90000 ms in the middle of the reply of phone"),
      (22, 50, "the reply of phone was incomplete after 600000 ms"),
    ])
  func theCentralGivesUpAReplyThatStandsStillOrHasNoEnd(words: Int, seconds: Int, message: String) async throws {
    try await withBoth(limits: (nil, .seconds(1000)), time: TimeSource(clock)) { central in
      let heard = Lock("")
      let reply = Task {
        try await central.generate(prompt: "x", maxTokens: nil) { piece in heard.withLock { $0 += piece } }
      }
      try await say(words, try await engine.next(), heard)
      clock.advance(by: .seconds(seconds))
      let error = await #expect(throws: InferenceError.self) { try await reply.value }
      #expect(error?.code == .timedOut)
      #expect(error?.message == message)
      try await eventually { engine.cancelled == 1 }
    }
  }

  @Test(
    "The phone times out an engine that stops or has no end",
    arguments: [(1, 90, "no text within 90 s"), (22, 50, "no complete reply within 600 s")])
  func thePhoneGivesUpAnEngineThatStandsStillOrHasNoEnd(words: Int, seconds: Int, message: String) async throws {
    try await withBoth(limits: (.seconds(1000), nil), time: TimeSource(clock)) { central in
      let heard = Lock("")
      let reply = Task {
        try await central.generate(prompt: "x", maxTokens: nil) { piece in heard.withLock { $0 += piece } }
      }
      try await say(words, try await engine.next(), heard)
      clock.advance(by: .seconds(seconds))
      let received = try await reply.value
      #expect(!received.ok)
      #expect(received.output == "[engine timed out: \(message)]")
    }
  }

  @Test("Failures over a mux have the same reasons") func failuresAreToldAsElsewhere() async throws {
    try await withBoth { central in
      async let failing = central.generate(prompt: "x", maxTokens: nil)
      try await engine.next().fail(EngineError(.interrupted, "it died"))
      let failed = try await failing
      #expect(!failed.ok)
      #expect(failed.output == "[engine interrupted: it died]")
      async let silent = central.generate(prompt: "x", maxTokens: nil)
      try await engine.next().end()
      let empty = try await silent
      #expect(!empty.ok)
      #expect(empty.output == "[empty response]")
    }
  }

  @Test("A cancelled request frees the phone") func whoGivesUpFreesThePhone() async throws {
    try await withBoth { central in
      let given = Task { try await central.generate(prompt: "x", maxTokens: nil) }
      _ = try await engine.next()
      given.cancel()
      await #expect(throws: CancellationError.self) { try await given.value }
      // The phone would not take the next prompt before the engine has let go of the first.
      async let reply = central.generate(prompt: "y", maxTokens: nil)
      let asked = try await engine.next()
      #expect(asked.text == "y")
      asked.say("done")
      asked.end()
      let received = try await reply
      #expect(received.output == "done")
    }
  }

  @Test("A mux that closes at once is not used", arguments: 0..<20) func aLinkThatEndsAsItBeginsIsNotUsed(_: Int)
    async throws
  {
    phone.faults.closesMuxesAtOnce = true
    phone.faults.failingBearers = [.gatt]
    try await withBoth(over: nil) { central in
      async let reply = central.generate(prompt: "x", maxTokens: nil)
      let asked = try await engine.next()
      asked.say("heard")
      asked.end()
      let received = try await reply
      #expect(received.output == "heard")
    }
  }

  @Test("A stream is not a duplicate of a request with the same ID")
  func aStreamIsNoDuplicateOfARequestThatBearsItsName() throws {
    var machine = PhoneMachine(configuration: PhoneConfiguration(), addressesSinglePeer: true)
    let peer = PeerID("central")
    let request = Wire.Request(id: "1.1", prompt: "x", maxTokens: nil)
    _ = machine.handle(.write(PhoneWrite(peer: peer, bytes: request.encoded())), at: .zero)
    for stream in UInt32(1)...2 {
      let actions = machine.handle(request, stream: MuxStream(mux: 1, number: stream), from: peer, at: .zero)
      #expect(actions.first == .wakeRunner)
    }
    #expect(machine.queue.waiting.count == 3)
    #expect(machine.counters.duplicates == 0)
  }

  @Test("Without a bearer requests use the characteristics") func withoutAnyBearerTheCharacteristicsServe() async throws
  {
    phone.faults.failingBearers = [.l2cap, .gatt]
    try await withBoth(over: nil) { central in
      async let reply = central.generate(prompt: "x", maxTokens: nil)
      let asked = try await engine.next()
      asked.say("heard")
      asked.end()
      let received = try await reply
      #expect(received.output == "heard")
    }
  }

  @Test("Requests use the characteristics after the mux has closed", arguments: MuxBearer.allCases)
  func whenTheLinkEndsTheCharacteristicsServe(bearer: MuxBearer) async throws {
    if bearer == .gatt { phone.faults.failingBearers = [.l2cap] }
    try await withBoth(over: bearer) { central in
      let lost = Task { try await central.generate(prompt: "x", maxTokens: nil) }
      _ = try await engine.next()
      await phone.dropMuxes()
      let error = await #expect(throws: InferenceError.self) { try await lost.value }
      #expect(error?.code == .disconnected)
      try await eventually { await central.status().phones.first?.linkVersion == 1 }
      async let reply = central.generate(prompt: "y", maxTokens: nil)
      let asked = try await engine.next()
      asked.say("still here")
      asked.end()
      let received = try await reply
      #expect(received.output == "still here")
      #expect(phone.sent.contains { $0.characteristic == .response })
    }
  }
}
