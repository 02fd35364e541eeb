import DeterministicTesting
import EdgeCoderTesting
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("Replies and status on their way out", .timeLimit(.minutes(5))) struct PhoneSendingTests {
  private let clock = ManualClock()
  private let engine = GatedEngine()
  private let log = RecordingLog()
  /// No divisor of the five seconds an engine has to answer: a sleeper is then one or the other.
  private let pollInterval = Duration.seconds(4)

  private func service(
    _ phone: LoopbackPhone, engine: (any Engine)? = nil, chunkInterval: Duration = .zero,
    battery: @Sendable @escaping () async -> Int? = { nil }
  ) -> PhoneService {
    var configuration = PhoneConfiguration()
    configuration.chunkInterval = chunkInterval
    configuration.status.pollInterval = pollInterval
    return PhoneService(
      transport: phone, engine: engine ?? self.engine, configuration: configuration, battery: battery,
      time: TimeSource(clock), logger: log.logger)
  }

  private func echo(bytes: Int) -> EchoEngine {
    var options = EchoEngine.Options()
    options.repeatToBytes = bytes
    return EchoEngine(options: options)
  }

  private func replies(_ phone: LoopbackPhone) -> [LoopbackPhone.Sent] {
    phone.sent.filter { $0.characteristic == .response }
  }

  // MARK: Replies

  @Test(
    "A reply of any length passes at any MTU", arguments: [23, 185, 247, 517], [10, 512, 513, 16 * 1024, 200 * 1024])
  func aReplyOfAnyLengthPassesAtAnyMTU(mtu: Int, length: Int) async throws {
    let phone = LoopbackPhone()
    let service = service(phone, engine: echo(bytes: length))
    try await running([service.run]) {
      let central = try await HandCentral(phone, mtu: mtu)
      try await central.request("1", "Grüße, 世界 😀", maxTokens: 64)
      let reply = try #require(await central.reply())
      #expect(reply.ok)
      #expect(reply.output.hasPrefix(EchoEngine.prefix))
      #expect(abs(reply.output.utf8.count - max(length, EchoEngine.prefix.utf8.count)) < 8)
      let chunks = replies(phone).map(\.bytes)
      #expect(chunks.dropLast().allSatisfy { $0.count == min(512, mtu - 3) })
      #expect(Array(chunks.joined()) == reply.encoded())
    }
  }

  @Test("Chunks are 10 ms apart and no interval follows the last")
  func chunksAreTenMillisecondsApartAndNothingFollowsTheLast() async throws {
    let phone = LoopbackPhone()
    let service = service(phone, engine: echo(bytes: 1200), chunkInterval: .milliseconds(10))
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "x")
      for chunk in 1...2 {
        try await eventually { replies(phone).count == chunk }
        await clock.advance(toSleeperAt: .milliseconds(10 * chunk))
      }
      #expect(await central.reply() != nil, "no time passes after the last chunk")
      #expect(clock.now.offset == .milliseconds(20))
      #expect(replies(phone).count == 3)
    }
  }

  @Test("Replies never interleave") func repliesNeverInterleave() async throws {
    let phone = LoopbackPhone()
    let service = service(phone, engine: echo(bytes: 3000))
    try await running([service.run]) {
      let first = try await HandCentral(phone, "first", mtu: 185)
      let second = try await HandCentral(phone, "second", mtu: 247)
      for number in 1...4 {
        try await first.request("a\(number)", "x")
        try await second.request("b\(number)", "y")
      }
      // Both hear everything, whole and in order.
      for central in [first, second] {
        var ids: [String] = []
        for _ in 1...8 { ids.append(try #require(await central.reply()).id) }
        #expect(Set(ids) == Set((1...4).flatMap { ["a\($0)", "b\($0)"] }))
        #expect(ids.filter { $0.hasPrefix("a") } == ["a1", "a2", "a3", "a4"])
      }
      #expect(replies(phone).allSatisfy { $0.bytes.count <= 182 })
      #expect(replies(phone).allSatisfy { $0.peer == nil })
    }
  }

  @Test("A reply is sent to its central only where BlueZ can") func whereItCanBeAReplyGoesToItsCentralOnly()
    async throws
  {
    let phone = LoopbackPhone(addressesSinglePeer: true)
    let service = service(phone, engine: echo(bytes: 600))
    try await running([service.run]) {
      let small = try await HandCentral(phone, "small", mtu: 23)
      let large = try await HandCentral(phone, "large", mtu: 517)
      try await large.request("1", "x")
      #expect(await large.reply()?.id == "1")
      #expect(replies(phone).map(\.bytes.count).first == 512, "the other's MTU does not matter")
      try await small.request("2", "x")
      #expect(await small.reply()?.id == "2", "and it did not hear the first reply")
      #expect(Set(replies(phone).map(\.peer)) == [large.connection.peer, small.connection.peer])
    }
  }

  @Test("A broadcast reply is finished when its central disconnects")
  func aReplyOthersHearIsFinishedWhenItsCentralLeaves() async throws {
    let phone = LoopbackPhone()
    let service = service(phone, engine: echo(bytes: 2000), chunkInterval: .milliseconds(10))
    try await running([service.run]) {
      let leaver = try await HandCentral(phone, "leaver")
      let stayer = try await HandCentral(phone, "stayer")
      // By this the phone knows its MTU; with an unknown one the chunks would be the smallest.
      _ = try await stayer.connection.read(.status)
      try await leaver.request("1", "x")
      try await eventually { replies(phone).count == 1 }
      phone.drop(leaver.connection.peer)
      try await eventually { await service.snapshot().peers == 1 }
      try await stayer.request("2", "x")
      // Two replies of four chunks, each 10 ms after the one before.
      for chunk in 1...7 { await clock.advance(toSleeperAt: .milliseconds(10 * chunk)) }
      #expect(await stayer.reply()?.id == "1")
      #expect(await stayer.reply()?.id == "2")
      #expect(await leaver.reply() == nil)
    }
  }

  @Test("A reply to a disconnected central alone is dropped") func aReplyNobodyElseHearsIsBrokenOff() async throws {
    let phone = LoopbackPhone(addressesSinglePeer: true)
    let service = service(phone, engine: echo(bytes: 50_000), chunkInterval: .milliseconds(10))
    try await running([service.run]) {
      let leaver = try await HandCentral(phone, "leaver")
      let stayer = try await HandCentral(phone, "stayer")
      try await leaver.request("1", "x")
      try await eventually { replies(phone).count == 1 }
      phone.drop(leaver.connection.peer)
      try await eventually { await service.snapshot().counters.repliesFailed == 1 }
      try await stayer.request("2", "x")
      for chunk in 1...98 { await clock.advance(toSleeperAt: .milliseconds(10 * chunk)) }
      #expect(await stayer.reply()?.id == "2")
      #expect(replies(phone).count { $0.peer == leaver.connection.peer } == 1)
    }
  }

  @Test("A reply without a subscriber is counted as failed") func aReplyNobodySubscribedToIsCounted() async throws {
    let phone = LoopbackPhone()
    let service = service(phone, engine: EchoEngine())
    try await running([service.run]) {
      let connection = try await phone.connect(PeerID("mute"), mtu: 517)
      try await connection.write(Wire.Request(id: "1", prompt: "x").encoded())
      try await eventually { await service.snapshot().counters.repliesFailed == 1 }
      #expect(await service.snapshot().counters.replies == 0)
    }
  }

  // MARK: Status

  @Test("A new subscriber receives the status") func pushesTheStatusToWhoSubscribes() async throws {
    let phone = LoopbackPhone()
    let service = service(phone, battery: { 87 })
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.connection.subscribe(to: .status)
      #expect(await central.status() == Wire.Status(modelState: .ready, batteryPct: 87))
      #expect(
        phone.value(of: .status, for: PeerID("reader")) == Wire.Status(modelState: .ready, batteryPct: 87).encoded())
      let later = try await HandCentral(phone, "later")
      try await later.connection.subscribe(to: .status)
      #expect(await later.status() == Wire.Status(modelState: .ready, batteryPct: 87))
    }
  }

  @Test("The status is sent after a change and at an interval") func pushesTheStatusWhenItChangesAndEveryInterval()
    async throws
  {
    // Where subscribers are not reported, a new central gets the status more often.
    let phone = LoopbackPhone(addressesSinglePeer: true)
    let service = service(phone)
    try await running([service.run]) {
      // The engine's answer is awaited before time goes on: it has five seconds for it.
      try await eventually { engine.asked == 1 }
      let central = try await HandCentral(phone)
      try await central.connection.subscribe(to: .status)
      #expect(await central.status()?.modelState == "ready")
      try await eventually { engine.asked == 2 }
      engine.model = .loading
      func poll(_ number: Int) async throws {
        await clock.advance(toSleeperAt: pollInterval * number)
        try await eventually { engine.asked == 2 + number }
      }
      try await poll(1)
      #expect(await central.status()?.modelState == "loading")
      let before = phone.sent.count { $0.characteristic == .status }
      for number in 2...8 { try await poll(number) }
      await clock.waitForSleeper(until: pollInterval * 9)
      #expect(phone.sent.count { $0.characteristic == .status } == before, "nothing changed for 28 s")
      clock.advance(by: pollInterval)
      #expect(await central.status()?.modelState == "loading")
    }
  }

  @Test("Without a central, an engine that is ready is polled every 30 s") func anIdlePhoneLetsItsEngineRest()
    async throws
  {
    let phone = LoopbackPhone(addressesSinglePeer: true)
    let service = service(phone)
    try await running([service.run]) {
      try await eventually { engine.asked == 1 }
      try await eventually { await service.board.current?.modelState == "ready" }
      for number in 1...7 { await clock.advance(toSleeperAt: pollInterval * number) }
      await clock.waitForSleeper(until: pollInterval * 8)
      #expect(engine.asked == 1, "not within 28 s")
      await clock.advance(toSleeperAt: pollInterval * 8)
      try await eventually { engine.asked == 2 }
      let central = try await HandCentral(phone)
      try await central.connection.subscribe(to: .status)
      #expect(await central.status()?.modelState == "ready")
      try await eventually { engine.asked == 3 }
      await clock.advance(toSleeperAt: pollInterval * 9)
      try await eventually { engine.asked == 4 }
    }
  }

  @Test("A status over the MTU is split like a reply") func aStatusThatDoesNotFitTheMTUIsCutLikeAReply() async throws {
    let phone = LoopbackPhone()
    let service = service(phone, battery: { 100 })
    try await running([service.run]) {
      let central = try await HandCentral(phone, mtu: 23)
      try await central.connection.subscribe(to: .status)
      #expect(await central.status() == Wire.Status(modelState: .ready, batteryPct: 100))
      #expect(phone.sent.allSatisfy { $0.bytes.count <= 20 })
    }
  }

  @Test("An engine that reports no state counts as an error") func anEngineThatDoesNotSayHowItIsIsAnError() async throws
  {
    struct Stuck: Engine {
      let name = "stuck"
      func modelState() async -> ModelState {
        do { try await hang() } catch {}
        return .ready
      }
      func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
        AsyncThrowingStream { nil }
      }
    }
    let phone = LoopbackPhone()
    let service = service(phone, engine: Stuck())
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.connection.subscribe(to: .status)
      await clock.advance(toSleeperAt: .seconds(5))
      #expect(await central.status()?.modelState == "error")
    }
  }

  // MARK: Privacy

  @Test("No text of a request or reply is logged") func noTextOfARequestOrReplyIsLogged() async throws {
    let phone = LoopbackPhone()
    let service = service(phone)
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "SECRET-PROMPT")
      let prompt = try await engine.next()
      prompt.say("SECRET-ANSWER")
      prompt.end()
      _ = await central.reply()
      try await central.write(#"{"id":"2","prompt":["SECRET-MALFORMED"]}SECRET-GARBAGE"#)
      _ = await central.reply()
    }
    #expect(log.lines.contains("job done"))
    #expect(!log.lines.contains("SECRET"))
  }
}
