import DeterministicTesting
import EdgeCoderTesting
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("The phone", .timeLimit(.minutes(5))) struct PhoneServiceTests {
  private let phone = LoopbackPhone()
  private let engine = GatedEngine()
  private let clock = ManualClock()
  private let log = RecordingLog()

  private func configuration(_ change: (inout PhoneConfiguration) -> Void = { _ in }) -> PhoneConfiguration {
    var configuration = PhoneConfiguration()
    configuration.chunkInterval = .zero
    change(&configuration)
    return configuration
  }

  private func service(_ configuration: PhoneConfiguration) -> PhoneService {
    PhoneService(
      transport: phone, engine: engine, configuration: configuration, time: TimeSource(clock), logger: log.logger)
  }

  // MARK: Answers

  @Test("A reply contains the text that the engine streams") func answersWithWhatTheEngineStreams() async throws {
    let service = service(configuration())
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "hello", maxTokens: 7)
      let prompt = try await engine.next()
      #expect(prompt.text == "hello")
      #expect(prompt.maxTokens == 7)
      for piece in ["grüß", " ", "dich"] { prompt.say(piece) }
      prompt.end()
      #expect(await central.reply() == Wire.Response(id: "1", output: "grüß dich", ok: true, durationMs: 0))
      try await eventually { await service.snapshot().counters.replies == 1 }
    }
  }

  @Test(
    "Max tokens is honoured within its bounds",
    arguments: [(nil, 512), (0, 1), (-7, 1), (1_000_000, 8192)] as [(Int?, Int)])
  func maxTokensIsHonouredWithinItsBounds(asked: Int?, given: Int) async throws {
    let service = service(configuration())
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "hello", maxTokens: asked)
      #expect(try await engine.next().maxTokens == given)
    }
  }

  @Test("The reply contains the duration of the engine") func measuresHowLongTheEngineTook() async throws {
    let service = service(configuration())
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "hello")
      let prompt = try await engine.next()
      clock.advance(by: .milliseconds(1234))
      prompt.say("x")
      prompt.end()
      #expect(await central.reply()?.durationMs == 1234)
    }
  }

  @Test("Requests are answered one after another in order") func answersOneAfterAnotherInOrder() async throws {
    let service = service(configuration())
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      for number in 1...3 { try await central.request("\(number)", "prompt \(number)") }
      for number in 1...3 {
        let prompt = try await engine.next()
        #expect(prompt.text == "prompt \(number)")
        #expect(await service.snapshot().queued <= 3 - number)
        prompt.say("answer \(number)")
        prompt.end()
        #expect(await central.reply()?.output == "answer \(number)")
      }
    }
  }

  // MARK: Refusals

  @Test("A request over the queue limit is refused as busy") func oneRequestTooManyIsToldThatThePhoneIsBusy()
    async throws
  {
    let service = service(configuration { $0.queue.limit = 2 })
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "a")
      let first = try await engine.next()
      for id in ["2", "3", "4"] { try await central.request(id, "b") }
      #expect(
        await central.reply()
          == Wire.Response(id: "4", output: "[busy: 2 requests are waiting]", ok: false, durationMs: 0))
      first.say("x")
      first.end()
      #expect(await central.reply()?.id == "1")
      #expect(await service.snapshot().counters.refused.busy == 1)
    }
  }

  @Test("A duplicate ID gets one reply") func anIDThatIsWaitedForIsAnsweredOnce() async throws {
    let service = service(configuration())
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      let other = try await HandCentral(phone, "other")
      try await central.request("1", "a")
      let first = try await engine.next()
      try await central.request("1", "a")
      try await other.request("1", "of the other")
      try await central.request("2", "b")
      try await eventually { await service.snapshot().counters.requests == 4 }
      first.say("x")
      first.end()
      #expect(await central.reply()?.id == "1")
      let second = try await engine.next()
      #expect(second.text == "of the other", "ids belong to their central")
      second.say("y")
      second.end()
      #expect(try await engine.next().text == "b")
      #expect(await service.snapshot().counters.duplicates == 1)
    }
  }

  @Test("A malformed request gets a reply if its ID is readable") func aMalformedRequestIsAnsweredWhenItsIDCanBeRead()
    async throws
  {
    let service = service(configuration { $0.requestLimit = 200 })
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.write(#"{"prompt":"no id"}{"id":"1","prompt":5} garbage "#)
      let first = await central.reply()
      #expect(first?.id == "1")
      #expect(first?.ok == false)
      #expect(first?.output == #"[malformed request: the string field "prompt" is missing]"#)
      try await central.write(Wire.Request(id: "2", prompt: String(repeating: "x", count: 500)).encoded())
      #expect(await central.reply()?.output == "[the request exceeds 200 bytes]")
      try await central.request("3", "fine")
      #expect(try await engine.next().text == "fine")
      let counters = await service.snapshot().counters
      #expect(counters.refused.malformed == 3)
      #expect(counters.discardedBytes == 8)
      #expect(counters.requests == 1)
    }
  }

  @Test("Refusals that are not sent are bounded") func refusalsNobodyFetchesDoNotPileUp() async throws {
    let service = service(
      configuration {
        $0.refusals.limit = 4
        $0.chunkInterval = .milliseconds(10)
      })
    try await running([service.run]) {
      let central = try await HandCentral(phone, mtu: 23)
      let flood = (0..<50).map { #"{"id":"\#($0)"}"# }.joined()
      try await central.write(flood)
      // The clock stands still: one chunk goes out, the rest wait.
      try await eventually { await service.snapshot().counters.refused.malformed == 50 }
      let dropped = await service.snapshot().counters.refused.unsent
      #expect(dropped >= 45)
    }
  }

  // MARK: Engine trouble

  @Test(
    "A refusal without a model has the reason",
    arguments: [
      (.notInstalled, "[no model loaded]"), (.loading, "[no model loaded; its state is loading]"),
      (.downloading, "[no model loaded; its state is downloading]"), (.error, "[no model loaded; its state is error]"),
    ] as [(ModelState, String)])
  func withoutAModelTheReplySaysSo(state: ModelState, output: String) async throws {
    engine.model = state
    let service = service(configuration())
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "hello")
      #expect(await central.reply() == Wire.Response(id: "1", output: output, ok: false, durationMs: 0))
    }
  }

  @Test("A model that has become ready is used at once") func aModelThatHasBecomeReadyIsUsedAtOnce() async throws {
    engine.model = .loading
    let service = service(configuration())
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await eventually { await service.snapshot().status?.modelState == "loading" }
      engine.model = .ready
      try await central.request("1", "hello")
      #expect(try await engine.next().text == "hello")
      try await eventually { await service.snapshot().status?.modelState == "ready" }
    }
  }

  @Test("An engine that fails is reported and the next request is answered")
  func anEngineThatFailsIsReportedAndTheNextRequestIsAnswered() async throws {
    let service = service(configuration())
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "a")
      try await central.request("2", "b")
      let first = try await engine.next()
      first.say("half an ans")
      first.fail(EngineError(.interrupted, "the connection ended"))
      let reply = await central.reply()
      #expect(reply?.output == "[engine interrupted: the connection ended]")
      #expect(reply?.ok == false)
      let second = try await engine.next()
      second.end()
      #expect(
        await central.reply() == Wire.Response(id: "2", output: "[empty response]", ok: false, durationMs: 0))
      #expect(await service.snapshot().counters.engineFailures == 1)
    }
  }

  @Test("An engine that hangs is stopped at the limit") func anEngineThatHangsIsStoppedAtTheLimit() async throws {
    let service = service(configuration { $0.timeouts.text = .seconds(60) })
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "a")
      _ = try await engine.next()
      await clock.advance(toSleeperAt: .seconds(60))
      #expect(await central.reply()?.output == "[engine timed out: no complete reply within 60 s]")
      #expect(engine.cancelled == 1)
    }
  }

  @Test("A reply over the limit is truncated and says so") func aReplyOverTheLimitIsCutAndSaysSo() async throws {
    let service = service(configuration { $0.replyLimit = 1000 })
    try await running([service.run]) {
      let central = try await HandCentral(phone)
      try await central.request("1", "a")
      let prompt = try await engine.next()
      for _ in 0..<100 { prompt.say("0123456789\n€\u{1}") }
      let reply = try #require(await central.reply())
      #expect(reply.ok)
      #expect(reply.output.hasSuffix(OutputAccumulator.truncationNote))
      #expect(reply.encoded().count <= 1000)
      #expect(reply.encoded().count > 900)
      #expect(await service.snapshot().counters.truncated == 1)
      #expect(engine.cancelled == 1, "the engine is not left running")
    }
  }

  // MARK: Leaving

  @Test("A disconnected central cancels its requests") func aCentralThatLeavesTakesItsRequestsWithIt() async throws {
    let service = service(configuration())
    try await running([service.run]) {
      let leaver = try await HandCentral(phone, "leaver")
      let stayer = try await HandCentral(phone, "stayer")
      try await leaver.request("1", "a")
      _ = try await engine.next()
      try await leaver.request("2", "b")
      try await stayer.request("3", "c")
      try await eventually { await service.snapshot().queued == 2 }
      phone.drop(leaver.connection.peer)
      let next = try await engine.next()
      #expect(next.text == "c")
      #expect(engine.cancelled == 1)
      next.say("for the stayer")
      next.end()
      #expect(await stayer.reply()?.id == "3")
      #expect(await service.snapshot().counters.cancelled == 2)
    }
  }

  @Test("A new connection starts with an empty buffer") func aNewConnectionStartsWithAnEmptyBuffer() async throws {
    let service = service(configuration())
    try await running([service.run]) {
      let first = try await HandCentral(phone, "again")
      try await first.write(#"{"id":"1","prompt":"never fin"#)
      phone.drop(first.connection.peer)
      let second = try await HandCentral(phone, "again")
      try await second.request("2", "whole")
      #expect(try await engine.next().text == "whole")
    }
  }

  @Test("A restart of the stack removes all centrals, and the service continues")
  func aRestartOfTheStackForgetsEverybodyAndServesOn() async throws {
    let service = service(configuration())
    try await running([service.run]) {
      let before = try await HandCentral(phone, "before")
      try await before.request("1", "a")
      _ = try await engine.next()
      phone.restart()
      #expect(await before.reply() == nil)
      try await eventually { engine.cancelled == 1 }
      let after = try await HandCentral(phone, "after")
      try await after.request("2", "b")
      let prompt = try await engine.next()
      prompt.say("back")
      prompt.end()
      #expect(await after.reply()?.output == "back")
    }
  }

  @Test("The service stops when its task is cancelled") func endsWhenItsTaskIsCancelled() async throws {
    let service = service(configuration())
    let task = Task { await service.run() }
    let central = try await HandCentral(phone)
    try await central.request("1", "a")
    _ = try await engine.next()
    task.cancel()
    await task.value
    try await eventually { engine.cancelled == 1 }
  }
}
