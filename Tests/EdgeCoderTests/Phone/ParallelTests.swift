import DeterministicTesting
import EdgeCoderTesting
import Streams
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("Several prompts at a time", .timeLimit(.minutes(5))) struct ParallelTests {
  private static func request(_ id: String) -> Wire.Request { Wire.Request(id: id, prompt: id, maxTokens: nil) }

  @Test("Centrals take turns, and each one's prompts keep their order") func turns() {
    var queue = JobQueue(limit: 16)
    for id in ["a1", "a2", "a3", "b1", "c1", "b2"] {
      #expect(queue.submit(Self.request(id), from: PeerID(String(id.prefix(1)))) == .accepted)
    }
    let foretold = queue.order.map(\.request.id)
    var started: [String] = []
    while let job = queue.start() {
      started.append(job.request.id)
      _ = queue.finish(job.number)
    }
    #expect(started == ["a1", "b1", "c1", "a2", "b2", "a3"])
    #expect(foretold == started)
  }

  @Test("As many start as the engine bears, and a cancelled one gives its slot back") func slots() throws {
    var queue = JobQueue(limit: 16)
    queue.slots = 2
    for id in ["a1", "a2", "a3", "a4"] { _ = queue.submit(Self.request(id), from: PeerID("a")) }
    let started = [queue.start(), queue.start(), queue.start()]
    #expect(started.map { $0?.request.id } == ["a1", "a2", nil])
    let first = try #require(started[0])
    #expect(queue.finish(first.number)?.request.id == "a1")
    #expect(queue.finish(first.number) == nil)
    #expect(queue.start()?.request.id == "a3")
    let cancelled = queue.cancel { $0.request.id == "a2" }
    #expect(cancelled.running.map(\.request.id) == ["a2"])
    #expect(queue.start()?.request.id == "a4")
  }

  private let air = LoopbackCentral()

  private func withBoth(
    _ phone: LoopbackPhone, _ engine: GatedEngine, time: TimeSource = .continuous,
    _ body: @Sendable @escaping (Central) async throws -> Void
  ) async throws {
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    let central = Central(
      scanner: air, connector: air, configuration: configuration, environment: Central.Environment(time: time))
    let service = PhoneService(transport: phone, engine: engine, time: time)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await eventually { await central.status().phones.first?.state == "ready" }
      try await body(central)
    }
  }

  @Test("Over a v2 mux two prompts run at once, and the third one is told how many are ahead")
  func twoAtOnce() async throws {
    let engine = GatedEngine(slots: 2)
    try await withBoth(LoopbackPhone(muxBearers: [.l2cap]), engine) { central in
      let ahead = Lock<[Int]>([])
      let replies = ["1", "2", "3"].map { prompt in
        Task {
          try await central.generate(InferenceRequest(prompt: prompt)) { part in
            if case .waiting(let count) = part { ahead.withLock { $0.append(count) } }
          }
        }
      }
      let first = try await engine.next()
      let second = try await engine.next()
      try await eventually { ahead.withLock { $0.last == 2 } }
      second.say("reply to \(second.text)")
      second.end()
      let third = try await engine.next()
      for prompt in [first, third] {
        prompt.say("reply to \(prompt.text)")
        prompt.end()
      }
      for (index, reply) in replies.enumerated() { #expect(try await reply.value.output == "reply to \(index + 1)") }
    }
  }

  @Test("Without a mux a phone has one prompt, whatever its engine bears") func oneWithoutAMux() async throws {
    let engine = GatedEngine(slots: 4)
    try await withBoth(LoopbackPhone(), engine) { central in
      let first = Task { try await central.generate(prompt: "1", maxTokens: 1) }
      let asked = try await engine.next()
      let second = Task { try await central.generate(prompt: "2", maxTokens: 1) }
      try await eventually { await central.waiting.count == 1 }
      asked.say("a")
      asked.end()
      #expect(try await first.value.output == "a")
      let other = try await engine.next()
      other.say("b")
      other.end()
      #expect(try await second.value.output == "b")
    }
  }

  @Test("A model that thinks for longer than a text may take is no time-out", arguments: [true, false])
  func thinking(asks: Bool) async throws {
    let clock = ManualClock()
    let engine = GatedEngine()
    try await withBoth(LoopbackPhone(muxBearers: [.l2cap]), engine, time: TimeSource(clock)) { central in
      let thoughts = Lock(0)
      var request = InferenceRequest(prompt: "why?")
      // With an option it is a form, whose reply has a place for the thinking.
      if asks { request.details.options.seed = 7 }
      let asked = request
      let reply = Task {
        try await central.generate(asked) { part in
          if case .thinking = part { thoughts.withLock { $0 += 1 } }
        }
      }
      let prompt = try await engine.next()
      for number in 1...8 {
        clock.advance(by: .seconds(25))
        prompt.think("hm ")
        try await eventually { thoughts.withLock { $0 >= number } }
      }
      prompt.say("because")
      prompt.end()
      #expect(try await reply.value.output == "because")
    }
  }
}
