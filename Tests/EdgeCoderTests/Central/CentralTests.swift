import DeterministicTesting
import EdgeCoderTesting
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("The central with phones in memory", .timeLimit(.minutes(5))) struct CentralTests {
  private let clock = ManualClock()
  private let log = RecordingLog()
  private let air = LoopbackCentral()

  private func central(
    _ air: LoopbackCentral? = nil, _ change: (inout CentralConfiguration) -> Void = { _ in }
  ) -> Central {
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    configuration.reconnection.backoff.jitter = 1...1
    change(&configuration)
    let air = air ?? self.air
    let clock = clock
    let environment = Central.Environment(
      time: TimeSource(clock),
      wallClock: { 1_700_000_000_000 + clock.now.offset.milliseconds(rounded: .towardZero) }, random: { 0.5 })
    return Central(
      scanner: air, connector: air, configuration: configuration, environment: environment, logger: log.logger)
  }

  private func service(
    _ phone: LoopbackPhone, _ engine: any Engine = EchoEngine(), battery: Int? = nil,
    _ change: (inout PhoneConfiguration) -> Void = { _ in }
  ) -> PhoneService {
    var configuration = PhoneConfiguration()
    configuration.chunkInterval = .zero
    change(&configuration)
    return PhoneService(
      transport: phone, engine: engine, configuration: configuration, battery: { battery }, time: TimeSource(clock),
      logger: log.logger)
  }

  private func ready(_ central: Central, _ count: Int = 1, modelState: String = "ready") async throws {
    try await eventually {
      await central.status().phones.count { $0.state == "ready" && $0.modelState == modelState } == count
    }
  }

  // MARK: Exchange

  @Test("A prompt of any length passes at any MTU", arguments: [23, 185, 247, 517], [20, 600, 20_000])
  func aPromptOfAnyLengthPassesAtAnyMTU(mtu: Int, length: Int)
    async throws
  {
    let air = LoopbackCentral(mtu: mtu)
    let phone = LoopbackPhone()
    phone.faults.writeLimit = 508
    let engine = GatedEngine()
    let central = central(air)
    let service = service(phone, engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      let prompt = String(String(repeating: "wörld 😀 ", count: length / 8).prefix(length))
      async let reply = central.generate(prompt: prompt, maxTokens: 99)
      let asked = try await engine.next()
      #expect(asked.text == prompt)
      #expect(asked.maxTokens == 99)
      asked.say("Antwort: ")
      clock.advance(by: .milliseconds(250))
      asked.say(prompt)
      asked.end()
      let received = try await reply
      #expect(received.output == "Antwort: " + prompt)
      #expect(received.ok)
      #expect(received.phone == "phone")
      #expect(received.durationMs == 250)
    }
  }

  @Test("The default token limit is that of the phone") func theDefaultTokensAreThePhones() async throws {
    let phone = LoopbackPhone()
    let engine = GatedEngine()
    let central = central()
    let service = service(phone, engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      async let reply = central.generate(prompt: "x", maxTokens: nil)
      let asked = try await engine.next()
      #expect(asked.maxTokens == Wire.defaultMaxTokens)
      asked.end()
      #expect(try await reply.output == "[empty response]")
    }
  }

  @Test("Two centrals of one phone get their own replies") func twoCentralsOfOnePhoneGetTheirOwnReplies() async throws {
    let phone = LoopbackPhone()
    let others = LoopbackCentral("other", mtu: 185)
    let one = central()
    let two = central(others)
    let service = service(phone)
    try await running([service.run, one.run, two.run]) {
      air.see(phone)
      others.see(phone)
      try await ready(one)
      try await ready(two)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...20 {
          group.addTask {
            let central = number % 2 == 0 ? one : two
            let prompt = String(repeating: "prompt \(number) ", count: 60)
            let reply = try await central.generate(prompt: prompt, maxTokens: nil)
            #expect(reply.output == EchoEngine.prefix + prompt)
          }
        }
        try await group.waitForAll()
      }
      try await eventually { await one.counters().foreignReplies == 10 }
      try await eventually { await two.counters().foreignReplies == 10 }
      #expect(await one.counters().malformed == 0)
    }
  }

  @Test("Two phones share the work") func twoPhonesShareTheWork() async throws {
    let phones = [LoopbackPhone("one"), LoopbackPhone("two")]
    let engines = [GatedEngine(), GatedEngine()]
    let central = central()
    let one = service(phones[0], engines[0])
    let two = service(phones[1], engines[1])
    try await running([one.run, two.run, central.run]) {
      for phone in phones { air.see(phone) }
      try await ready(central, 2)
      async let first = central.generate(prompt: "x", maxTokens: nil)
      async let second = central.generate(prompt: "y", maxTokens: nil)
      // A phone that has answered is free for the other request.
      for prompt in [try await engines[0].next(), try await engines[1].next()] {
        prompt.say("done")
        prompt.end()
      }
      #expect(Set([try await first.phone, try await second.phone]) == ["one", "two"])
    }
  }

  @Test("A reply with ok false is a reply") func anOKFalseReplyIsAReply() async throws {
    let phone = LoopbackPhone()
    let engine = GatedEngine()
    engine.model = .notInstalled
    let central = central()
    let service = service(phone, engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central, modelState: "notInstalled")
      let reply = try await central.generate(prompt: "x", maxTokens: nil)
      #expect(!reply.ok)
      #expect(reply.output == "[no model loaded]")
    }
  }

  // MARK: Requests that fail

  @Test("Without a phone a request fails at once") func withoutAPhoneARequestFailsAtOnce() async throws {
    let central = central()
    try await running([central.run]) {
      let error = await #expect(throws: InferenceError.self) { try await central.generate(prompt: "x", maxTokens: nil) }
      #expect(error?.code == .noPhoneReady)
      #expect(error?.message == "no phone was found")
      air.stop("the adapter is off")
      try await eventually { await !central.status().scanning }
      let second = await #expect(throws: InferenceError.self) {
        try await central.generate(prompt: "x", maxTokens: nil)
      }
      #expect(second?.message == "the scan has stopped: the adapter is off")
    }
  }

  @Test("A request over the limit is not sent") func aRequestOverTheLimitIsNotSent() async throws {
    let phone = LoopbackPhone()
    let central = central { $0.messageLimit = 1000 }
    let service = service(phone)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      let prompt = String(repeating: "\n", count: 500)
      let error = await #expect(throws: InferenceError.self) {
        try await central.generate(prompt: prompt, maxTokens: 1)
      }
      #expect(error?.code == .requestTooLarge)
      #expect(await service.snapshot().counters.requests == 0)
    }
  }

  @Test("A disconnect within a reply fails the request at once, and the phone reconnects")
  func aDisconnectMidReplyFailsTheRequestAtOnceAndTheLinkComesBack() async throws {
    let phone = LoopbackPhone()
    var options = EchoEngine.Options()
    options.repeatToBytes = 16 * 1024
    let central = central()
    let service = service(phone, EchoEngine(options: options))
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      phone.faults.afterNotification = { if $0 == 5 { phone.dropAll("radio lost") } }
      let error = await #expect(throws: InferenceError.self) { try await central.generate(prompt: "x", maxTokens: 1) }
      #expect(error?.code == .disconnected)
      #expect(error?.message == "the connection to phone closed: radio lost")
      phone.faults.afterNotification = nil
      await clock.advance(toSleeperAt: .milliseconds(500))
      try await ready(central)
      #expect(try await central.generate(prompt: "x", maxTokens: 1).ok)
    }
  }

  @Test("A reply over the limit fails the request at once") func aReplyOverTheLimitFailsTheRequestAtOnce() async throws
  {
    let phone = LoopbackPhone()
    let engine = GatedEngine()
    let central = central { $0.messageLimit = 1000 }
    let service = service(phone, engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      let request = Task { try await central.generate(prompt: "x", maxTokens: 1) }
      let prompt = try await engine.next()
      prompt.say(String(repeating: "endless ", count: 1000))
      prompt.end()
      let error = await #expect(throws: InferenceError.self) { try await request.value }
      #expect(error?.code == .badReply)
      #expect(error?.message == "the reply of phone exceeds 1000 bytes")
      async let next = central.generate(prompt: "y", maxTokens: 1)
      try await engine.next().end()
      #expect(try await next.output == "[empty response]")
    }
  }

  @Test("A failed write fails the request and reconnects") func aWriteThatFailsFailsTheRequestAndResetsTheLink()
    async throws
  {
    let phone = LoopbackPhone()
    let central = central()
    let service = service(phone)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      phone.faults.failsWrites = true
      let error = await #expect(throws: InferenceError.self) { try await central.generate(prompt: "x", maxTokens: 1) }
      #expect(error?.code == .writeFailed)
      phone.faults.failsWrites = false
      await clock.advance(toSleeperAt: .milliseconds(500))
      try await eventually { phone.connects == 2 }
      try await ready(central)
      #expect(try await central.generate(prompt: "x", maxTokens: 1).ok)
    }
  }

  @Test("A request ends at its time limit and its reply is dropped")
  func aRequestEndsAtItsTimeLimitAndItsReplyIsDropped() async throws {
    let phone = LoopbackPhone()
    let engine = GatedEngine()
    let central = central()
    // With a limit of its own in the same instant the phone could answer while the central gives the request up.
    let service = service(phone, engine) { $0.timeouts.text = .seconds(180) }
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      let reply = Task { try await central.generate(prompt: "x", maxTokens: 1) }
      let slow = try await engine.next()
      await clock.advance(toSleeperAt: .seconds(90))
      let error = await #expect(throws: InferenceError.self) { try await reply.value }
      #expect(error?.code == .timedOut)
      #expect(error?.message == "no reply within 90000 ms: waiting for the reply of phone")
      slow.end()
      try await eventually { await central.counters().lateReplies == 1 }
      async let next = central.generate(prompt: "y", maxTokens: 1)
      let prompt = try await engine.next()
      prompt.say("in time")
      prompt.end()
      #expect(try await next.output == "in time")
    }
  }

  @Test("Cancelling abandons the request") func cancellingGivesTheRequestUp() async throws {
    let phone = LoopbackPhone()
    let engine = GatedEngine()
    let central = central()
    let service = service(phone, engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      let task = Task { try await central.generate(prompt: "given up", maxTokens: 1) }
      let given = try await engine.next()
      let waiting = Task { try await central.generate(prompt: "never sent", maxTokens: 1) }
      try await eventually { await central.counters().requests == 2 }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      // The phone works on; it counts as loaded until its reply has come.
      try await eventually { await central.status().phones.first?.pending == 1 }
      given.say("too late")
      given.end()
      try await eventually { await central.counters().lateReplies == 1 }
      #expect(await central.status().phones.first?.pending == 0)
      #expect(await central.counters().cancelled == 2)
      #expect(await service.snapshot().counters.requests == 1)
    }
  }

  @Test("More than the queue holds is refused as busy") func moreThanTheQueueHoldsIsRefusedAsBusy() async throws {
    let phone = LoopbackPhone()
    let engine = GatedEngine()
    let central = central { $0.requests.waitingLimit = 2 }
    let service = service(phone, engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      let tasks = (1...3).map { number in Task { try await central.generate(prompt: "\(number)", maxTokens: 1) } }
      let first = try await engine.next()
      try await eventually { await central.waiting.count == 2 }
      let error = await #expect(throws: InferenceError.self) { try await central.generate(prompt: "4", maxTokens: 1) }
      #expect(error?.code == .busy)
      first.end()
      for _ in 2...3 { try await engine.next().end() }
      for task in tasks { #expect(try await task.value.output == "[empty response]") }
    }
  }

  @Test("Waiting requests fail when the last phone is lost") func whoWaitsForAPhoneHearsWhenTheLastOneIsGone()
    async throws
  {
    let phone = LoopbackPhone()
    let engine = GatedEngine()
    let central = central()
    let service = service(phone, engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      let sent = Task { try await central.generate(prompt: "1", maxTokens: 1) }
      _ = try await engine.next()
      let waiting = Task { try await central.generate(prompt: "2", maxTokens: 1) }
      try await eventually { await central.waiting.count == 1 }
      phone.dropAll("radio lost")
      let first = await #expect(throws: InferenceError.self) { try await sent.value }
      #expect(first?.code == .disconnected)
      let second = await #expect(throws: InferenceError.self) { try await waiting.value }
      #expect(second?.code == .noPhoneReady || second?.code == .disconnected)
    }
  }

  @Test("Several requests of one phone are kept apart") func severalRequestsInAPhonesHandsAreToldApart() async throws {
    let phone = LoopbackPhone()
    let central = central { $0.requests.perPhone = 4 }
    let service = service(phone)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await ready(central)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...12 {
          group.addTask {
            let prompt = String(repeating: "\(number) ", count: 400)
            let reply = try await central.generate(prompt: prompt, maxTokens: nil)
            #expect(reply.output == EchoEngine.prefix + prompt)
          }
        }
        try await group.waitForAll()
      }
    }
  }
}
