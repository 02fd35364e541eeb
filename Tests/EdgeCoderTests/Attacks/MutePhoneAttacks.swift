import DeterministicTesting
import EdgeCoderTesting
import Streams
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

/// Phones that accept a prompt and never answer, or vanish: they cost a bounded time where another phone is ready.
@Suite("Mute and lost phones", .timeLimit(.minutes(5))) struct MutePhoneAttacks {
  private let clock = ManualClock()
  private let air = LoopbackCentral()

  private func central(phones: Int = 2) -> Central {
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    configuration.phoneLimit = phones
    // Here a phone without a service has set its status to be read.
    configuration.timeouts.status = .zero
    return Central(
      scanner: air, connector: air, configuration: configuration,
      environment: .init(time: TimeSource(clock), wallClock: { 0 }, random: { 0.5 }))
  }

  /// Lets the central connect to phones, the first of which is the nearest one.
  ///
  /// The routes depend on the strength alone once the central knows that each of them has its model: a phone without a
  /// status comes after one with a status.
  private func see(_ phones: [LoopbackPhone], _ central: Central) async throws {
    for (index, phone) in phones.enumerated() { air.see(phone, rssi: -40 - 20 * index) }
    try await eventually { await readyPhones(of: central) == phones.count }
  }

  private func readyPhones(of central: Central) async -> Int {
    await central.status().phones.count { $0.state == "ready" && $0.modelState == "ready" }
  }

  @Test(
    "A mute phone costs four seconds, then the next one is asked, and its text comes once", arguments: [false, true])
  func aMutePhoneIsPassed(overMux: Bool) async throws {
    let mute = LoopbackPhone("mute")
    await mute.setValue(Wire.Status(modelState: .ready).encoded(), of: .status, for: nil)
    let good = LoopbackPhone("good", muxBearers: overMux ? [.l2cap] : [])
    let service = PhoneService(transport: good, engine: CuriousEngine(), battery: { nil })
    let central = central()
    try await running([central.run, service.run]) {
      try await see([mute, good], central)
      let text = Lock("")
      async let reply = central.generate(prompt: "hello", maxTokens: nil) { piece in text.withLock { $0 += piece } }
      await clock.advance(toSleeperAt: .seconds(4))
      let answer = try await reply
      #expect(answer.answer.output == "hello")
      #expect(answer.phone == "good")
      #expect(text.withLock { $0 } == (overMux ? "hello" : ""))
      #expect(await central.counters().replies == 1)
    }
  }

  @Test("The late reply of a mute phone is dropped") func theLateReplyIsDropped() async throws {
    let late = LoopbackPhone("late")
    let good = LoopbackPhone("good")
    let slow = GatedEngine()
    let lateService = PhoneService(transport: late, engine: slow, battery: { nil })
    let service = PhoneService(transport: good, engine: CuriousEngine(), battery: { nil })
    let central = central()
    try await running([central.run, service.run, lateService.run]) {
      try await see([late, good], central)
      async let reply = central.generate(prompt: "hello", maxTokens: nil)
      let prompt = try await slow.next()
      await clock.advance(toSleeperAt: .seconds(4))
      #expect(try await reply.phone == "good")
      prompt.say("too late")
      prompt.end()
      try await eventually { await central.counters().lateReplies == 1 }
      #expect(await central.counters().replies == 1)
    }
  }

  @Test("A prompt whose phone vanishes is answered by the next one at once") func aVanishedPhoneIsReplaced()
    async throws
  {
    let gone = LoopbackPhone("gone")
    let good = LoopbackPhone("good")
    let silent = GatedEngine()
    let goneService = PhoneService(transport: gone, engine: silent, battery: { nil })
    let service = PhoneService(transport: good, engine: CuriousEngine(), battery: { nil })
    let central = central()
    try await running([central.run, service.run, goneService.run]) {
      try await see([gone, good], central)
      async let reply = central.generate(prompt: "hello", maxTokens: nil)
      _ = try await silent.next()
      gone.dropAll()
      #expect(try await reply.phone == "good")
    }
  }

  @Test("A phone that has answered slowly gets twice its time before another is asked") func aSlowPhoneGetsItsTime()
    async throws
  {
    let slow = LoopbackPhone("slow")
    let other = LoopbackPhone("other")
    let engine = GatedEngine()
    let curious = CuriousEngine()
    let slowService = PhoneService(transport: slow, engine: engine, battery: { nil })
    let service = PhoneService(transport: other, engine: curious, battery: { nil })
    let central = central()
    try await running([central.run, slowService.run]) {
      try await see([slow], central)
      async let first = central.generate(prompt: "first", maxTokens: nil)
      let prompt = try await engine.next()
      await clock.advance(toSleeperAt: .seconds(4))
      clock.advance(by: .seconds(3))
      prompt.say("first")
      prompt.end()
      #expect(try await first.phone == "slow")
      try await running([service.run]) {
        air.see(other, rssi: -80)
        try await eventually { await readyPhones(of: central) == 2 }
        async let second = central.generate(prompt: "second", maxTokens: nil)
        let again = try await engine.next()
        clock.advance(by: .seconds(13))
        #expect(curious.prompts.withLock { $0 }.isEmpty)
        again.say("second")
        again.end()
        #expect(try await second.phone == "slow")
      }
    }
  }
}
