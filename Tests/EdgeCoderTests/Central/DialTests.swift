import DeterministicTesting
import EdgeCoderTesting
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("Connecting to several phones", .timeLimit(.minutes(5))) struct DialTests {
  private let clock = ManualClock()
  private let air = LoopbackCentral()

  private func central() -> Central {
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    return Central(
      scanner: air, connector: air, configuration: configuration,
      environment: .init(time: TimeSource(clock), wallClock: { 0 }, random: { 0.5 }))
  }

  private static func unreachable(_ name: String) -> LoopbackPhone {
    let phone = LoopbackPhone(name)
    phone.faults.hangingConnects = .max
    return phone
  }

  @Test("Three phones that cannot be reached keep the fourth one out for less than 10 s") func unreachablePhones()
    async throws
  {
    let lost = ["one", "two", "three"].map(Self.unreachable)
    let good = LoopbackPhone("good")
    // On a clock of its own: its polls would be sleepers at the same times.
    let service = PhoneService(transport: good, engine: EchoEngine())
    let central = central()
    try await running([central.run, service.run]) {
      for phone in lost { air.see(phone, rssi: -40) }
      try await eventually { await central.status().phones.count == 3 }
      // The first one is dialled; the others wait for it.
      try await eventually { lost.map(\.connects).reduce(0, +) == 1 }
      air.see(good, rssi: -80)
      try await eventually { await central.status().phones.count == 4 }
      for turn in 1...3 { await clock.advance(toSleeperAt: .milliseconds(2500 * turn)) }
      try await eventually { await central.status().connected }
      #expect(clock.now.offset < .seconds(10))
      #expect(good.connects == 1)
      #expect(lost.allSatisfy { $0.connects >= 1 })
    }
  }

  @Test("Of those that wait the best received one comes first") func theBestFirst() async throws {
    let first = Self.unreachable("first")
    let weak = Self.unreachable("weak")
    let strong = Self.unreachable("strong")
    let central = central()
    try await running([central.run]) {
      air.see(first, rssi: -90)
      try await eventually { first.connects == 1 }
      air.see(weak, rssi: -80)
      air.see(strong, rssi: -30)
      try await eventually { await central.status().phones.count { $0.state == "connecting" } == 3 }
      await clock.advance(toSleeperAt: .milliseconds(2500))
      try await eventually { strong.connects == 1 }
      #expect(weak.connects == 0)
    }
  }

  @Test("An attempt whose link is established has its whole time") func withALinkItHasItsTime() async throws {
    let phone = Self.unreachable("slow")
    phone.faults.hangsWithLink = true
    let central = central()
    try await running([central.run]) {
      air.see(phone)
      try await eventually { phone.connects == 1 }
      await clock.advance(toSleeperAt: .milliseconds(2500))
      // It looks whether there is a link, and sleeps again.
      await clock.waitForSleeper(until: .milliseconds(22_500))
      clock.advance(by: .seconds(17))
      #expect(await central.status().phones.first?.state == "connecting")
      clock.advance(by: .milliseconds(500))
      try await eventually { await central.status().phones.first?.state == "waiting" }
      #expect(phone.connects == 1)
    }
  }

  @Test("An attempt with a link does not keep the next phone out") func besideOneWithALink() async throws {
    let slow = Self.unreachable("slow")
    slow.faults.hangsWithLink = true
    let good = LoopbackPhone("good")
    let central = central()
    try await running([central.run]) {
      air.see(slow, rssi: -30)
      try await eventually { slow.connects == 1 }
      air.see(good, rssi: -80)
      try await eventually { await central.status().phones.count == 2 }
      await clock.advance(toSleeperAt: .milliseconds(2500))
      try await eventually { await central.status().connected }
      #expect(clock.now.offset == .milliseconds(2500))
      // Its end takes nobody's turn.
      await clock.advance(toSleeperAt: .seconds(20))
      try await eventually { await central.status().phones.contains { $0.name == "slow" && $0.state == "waiting" } }
      slow.faults.hangingConnects = 0
      await clock.advance(toSleeperAt: .milliseconds(20_500))
      try await eventually { await central.status().phones.count { $0.state == "ready" } == 2 }
    }
  }

  @Test("A phone without a link is dialled again after a pause in which the scan listens") func itIsDialledAgain()
    async throws
  {
    let phone = Self.unreachable("gone")
    let central = central()
    try await running([central.run]) {
      air.see(phone)
      try await eventually { phone.connects == 1 }
      await clock.advance(toSleeperAt: .milliseconds(2500))
      // The end of its own pause, and that of the listening.
      await clock.waitForSleeper(until: .milliseconds(4000))
      await clock.advance(toSleeperAt: .milliseconds(3000))
      try await eventually { await central.status().phones.first?.state == "connecting" }
      #expect(phone.connects == 1)
      clock.advance(by: .milliseconds(1000))
      try await eventually { phone.connects == 2 }
    }
  }

  @Test("A phone that is heard in the pause is dialled at once") func heardInThePause() async throws {
    let gone = Self.unreachable("address of before")
    let phone = LoopbackPhone("new address")
    let central = central()
    try await running([central.run]) {
      air.see(gone)
      try await eventually { gone.connects == 1 }
      await clock.advance(toSleeperAt: .milliseconds(2500))
      await clock.waitForSleeper(until: .milliseconds(4000))
      await clock.advance(toSleeperAt: .milliseconds(3000))
      try await eventually { await central.status().phones.first?.state == "connecting" }
      air.see(phone)
      try await eventually { await central.status().connected }
      #expect(clock.now.offset == .milliseconds(3000), "the other one waits until 4 s")
    }
  }

  @Test("A phone that has failed gives its turn to one that is heard") func heardWhileAnotherIsDialled() async throws {
    let gone = Self.unreachable("address of before")
    let phone = LoopbackPhone("new address")
    let central = central()
    try await running([central.run]) {
      air.see(gone)
      try await eventually { gone.connects == 1 }
      await clock.advance(toSleeperAt: .milliseconds(2500))
      await clock.waitForSleeper(until: .milliseconds(3000))
      await clock.advance(toSleeperAt: .milliseconds(4000))
      try await eventually { gone.connects == 2 }
      air.see(phone)
      try await eventually { await central.status().connected }
      #expect(clock.now.offset == .milliseconds(4000), "the turn of the other one would end at 6.5 s")
      try await eventually { await central.status().phones.contains { $0.name == gone.name && $0.state == "waiting" } }
    }
  }

  @Test("A phone that has failed keeps its turn when its link is established") func failedButLinked() async throws {
    let slow = Self.unreachable("slow")
    let phone = LoopbackPhone("another one")
    let central = central()
    try await running([central.run]) {
      air.see(slow)
      try await eventually { slow.connects == 1 }
      await clock.advance(toSleeperAt: .milliseconds(2500))
      await clock.waitForSleeper(until: .milliseconds(3000))
      slow.faults.hangsWithLink = true
      await clock.advance(toSleeperAt: .milliseconds(4000))
      try await eventually { slow.connects == 2 }
      air.see(phone)
      await clock.advance(toSleeperAt: .milliseconds(6500))
      try await eventually { await central.status().connected }
      #expect(await central.status().phones.first { $0.name == "slow" }?.state == "connecting")
      #expect(slow.connects == 2)
    }
  }

  /// Runs a central whose one phone has a private address, and has just lost its connection.
  private func withMovedPhone(_ body: @Sendable @escaping (Central, LoopbackPhone) async throws -> Void) async throws {
    let phone = LoopbackPhone("private address")
    let central = central()
    try await running([central.run]) {
      air.see(phone, mayChangeAddress: true)
      try await eventually { await central.status().connected }
      phone.dropAll()
      try await eventually { await central.status().phones.first?.state == "waiting" }
      // The delay before the next attempt, and the end of the time in which the phone is listened for.
      await clock.waitForSleeper(until: .milliseconds(500))
      await clock.waitForSleeper(until: .seconds(10))
      try await body(central, phone)
    }
  }

  @Test("A phone that may have another address is dialled when it is heard") func heardUnderTheOldAddress() async throws
  {
    try await withMovedPhone { central, phone in
      clock.advance(by: .seconds(5))
      #expect(await central.status().phones.first?.state == "waiting")
      #expect(phone.connects == 1)
      air.see(phone, mayChangeAddress: true)
      try await eventually { await central.status().connected }
      #expect(clock.now.offset == .seconds(5))
    }
  }

  @Test("A phone that is heard under another address is not kept waiting by the old one") func heardUnderANewAddress()
    async throws
  {
    try await withMovedPhone { central, phone in
      clock.advance(by: .seconds(1))
      air.see(LoopbackPhone("new address"), mayChangeAddress: true)
      try await eventually { await central.status().connected }
      #expect(clock.now.offset == .seconds(1))
      #expect(phone.connects == 1)
      air.lose(phone)
      try await eventually { await central.status().phones.map(\.name) == ["new address"] }
    }
  }

  @Test("A phone that is not heard again is dialled after 10 s") func notHeard() async throws {
    try await withMovedPhone { central, phone in
      clock.advance(by: .milliseconds(9999))
      #expect(await central.status().phones.first?.state == "waiting")
      #expect(phone.connects == 1)
      clock.advance(by: .milliseconds(1))
      try await eventually { await central.status().connected }
      #expect(phone.connects == 2)
    }
  }

  @Test("A phone that was lost while it was dialled is not dialled again, and leaves the list") func lostWhileDialled()
    async throws
  {
    let old = Self.unreachable("old address")
    let central = central()
    try await running([central.run]) {
      air.see(old)
      try await eventually { old.connects == 1 }
      air.lose(old)
      await clock.advance(toSleeperAt: .milliseconds(2500))
      try await eventually { await central.status().phones.isEmpty }
      #expect(old.connects == 1)
    }
  }

  @Test("A reply whose identifier is in lower case is taken") func lowerCase() async throws {
    let phone = LoopbackPhone()
    let central = central()
    let answering: @Sendable () async -> Void = {
      var scanner = JSONObjectScanner(sizeLimit: 4096)
      for await case .write(let write) in phone.events {
        for case .object(let bytes) in scanner.receive(write.bytes, at: .zero) {
          guard let request = try? Wire.Request.decode(bytes) else { continue }
          let reply = Wire.Response(id: request.id.lowercased(), answer: .text("yes"), durationMs: 1)
          try? await phone.notify(.response, reply.encoded(), to: nil)
        }
      }
    }
    try await running([central.run, answering]) {
      air.see(phone)
      try await eventually { await central.status().connected }
      #expect(try await central.generate(prompt: "is it?", maxTokens: nil).output == "yes")
    }
  }

  @Test("A phone that never answers reads is not read while it sends its status") func muteReads() async throws {
    let phone = LoopbackPhone()
    phone.faults.hangsReads = true
    let service = PhoneService(transport: phone, engine: EchoEngine())
    let central = central()
    try await running([central.run, service.run]) {
      air.see(phone)
      try await eventually { await central.status().phones.first?.modelState == "ready" }
      await clock.advance(toSleeperAt: .seconds(3))
      #expect(try await central.generate(prompt: "hi", maxTokens: nil).ok)
      #expect(phone.reads == 0)
    }
  }

  @Test("A read that gets no reply is not repeated on the next connection") func oneMuteRead() async throws {
    let phone = LoopbackPhone()
    phone.faults.hangsReads = true
    let central = central()
    try await running([central.run]) {
      air.see(phone)
      try await eventually { await central.status().connected }
      await clock.advance(toSleeperAt: .seconds(3))
      try await eventually { phone.reads == 1 }
      await clock.advance(toSleeperAt: .seconds(13))
      phone.dropAll()
      try await eventually { await central.status().phones.first?.state == "waiting" }
      // The pause before the next attempt may begin a moment after the state that announces it.
      try await eventually {
        clock.advance(by: .milliseconds(100))
        return await central.status().connected
      }
      clock.advance(by: .seconds(4))
      #expect(phone.connects == 2)
      #expect(phone.reads == 1)
    }
  }
}
