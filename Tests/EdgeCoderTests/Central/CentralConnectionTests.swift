import DeterministicTesting
import EdgeCoderTesting
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("The central's discovery, connections and events", .timeLimit(.minutes(5))) struct CentralConnectionTests {
  private let clock = ManualClock()
  private let log = RecordingLog()
  private let air = LoopbackCentral()

  private func central(_ change: (inout CentralConfiguration) -> Void = { _ in }) -> Central {
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    configuration.reconnection.backoff.jitter = 1...1
    change(&configuration)
    let clock = clock
    let environment = Central.Environment(
      time: TimeSource(clock),
      wallClock: { 1_700_000_000_000 + clock.now.offset.milliseconds(rounded: .towardZero) }, random: { 0.5 })
    return Central(
      scanner: air, connector: air, configuration: configuration, environment: environment, logger: log.logger)
  }

  private func states(_ central: Central) async -> [String: String] {
    await Dictionary(uniqueKeysWithValues: central.status().phones.map { ($0.name, $0.state) })
  }

  @Test("The strongest phones are connected") func theStrongestPhonesGetTheLinks() async throws {
    let central = central {
      $0.settleTime = .milliseconds(500)
      $0.phoneLimit = 2
    }
    try await running([central.run]) {
      let phones = [("weak", -90), ("strong", -40), ("unknown", nil), ("middling", -60)] as [(String, Int?)]
      for (name, rssi) in phones { air.see(LoopbackPhone(name), rssi: rssi) }
      try await eventually { await central.status().phones.count == 4 }
      await clock.advance(toSleeperAt: .milliseconds(500))
      try await eventually { await states(central).values.count { $0 == "ready" } == 2 }
      #expect(
        await states(central) == [
          "strong": "ready", "middling": "ready", "weak": "discovered", "unknown": "discovered",
        ])
    }
  }

  @Test("A phone that refuses pairing is retried, and the error has the reason")
  func aPhoneThatDoesNotPairIsAskedAgainAndThePersonTold() async throws {
    let phone = LoopbackPhone()
    phone.faults.refusesToPair = "it answers only who has paired"
    let central = central()
    try await running([central.run]) {
      air.see(phone)
      await clock.waitForSleeper(until: .milliseconds(500))
      let error = await #expect(throws: InferenceError.self) { try await central.generate(prompt: "", maxTokens: 1) }
      #expect(error?.message == "phone is waiting (it answers only who has paired)")
      phone.faults.refusesToPair = nil
      await clock.advance(toSleeperAt: .milliseconds(500))
      try await eventually { await central.status().connected }
    }
  }

  @Test("A failed connection attempt is repeated after growing delays")
  func aFailedConnectIsTriedAgainAfterGrowingPauses() async throws {
    let phone = LoopbackPhone()
    phone.faults.failingConnects = 4
    let central = central()
    try await running([central.run]) {
      air.see(phone)
      for (attempt, instant) in [500, 1500, 3500, 7500].enumerated() {
        await clock.waitForSleeper(until: .milliseconds(instant))
        #expect(phone.connects == attempt + 1)
        let status = await central.status()
        #expect(status.phones.first?.state == "waiting")
        #expect(!status.connected)
        let error = await #expect(throws: InferenceError.self) { try await central.generate(prompt: "", maxTokens: 1) }
        #expect(error?.message == "phone is waiting (le-connection-abort-by-local)")
        await clock.advance(toSleeperAt: .milliseconds(instant))
      }
      try await eventually { await central.status().connected }
    }
  }

  @Test("A connection attempt that hangs times out with its phase in the error")
  func aConnectThatHangsIsGivenUpWithItsPhaseNamed() async throws {
    let phone = LoopbackPhone()
    phone.faults.hangingConnects = 1
    let central = central()
    let events = await central.events()
    try await running([central.run]) {
      air.see(phone)
      await clock.advance(toSleeperAt: .milliseconds(2500))
      await clock.waitForSleeper(until: .milliseconds(4000))
      await clock.advance(toSleeperAt: .milliseconds(3000))
      await clock.advance(toSleeperAt: .milliseconds(4000))
      try await eventually { await central.status().connected }
    }
    var reasons: [String?] = []
    for await event in events.prefix(5) {
      if case .connection(_, _, .waiting, let failure) = event { reasons.append(failure?.message) }
    }
    #expect(reasons == ["connecting took longer than 2500 ms"])
  }

  @Test("A phone is ready only with both subscriptions", arguments: [EdgeCoderCharacteristic.response, .status])
  func aLinkIsReadyOnlyWhenBothSubscriptionsAreLive(characteristic: EdgeCoderCharacteristic) async throws {
    let phone = LoopbackPhone()
    phone.faults.hangingSubscription = characteristic
    let central = central()
    try await running([central.run]) {
      air.see(phone)
      await clock.waitForSleeper(until: .seconds(10))
      #expect(await states(central) == ["phone": "subscribing"])
      let error = await #expect(throws: InferenceError.self) { try await central.generate(prompt: "", maxTokens: 1) }
      #expect(error?.code == .noPhoneReady)
      await clock.advance(toSleeperAt: .seconds(10))
      await clock.waitForSleeper(until: .milliseconds(10_500))
      let reason = await central.reports[phone.id]?.failure?.message
      #expect(reason == "subscribing to \(characteristic) took longer than 10000 ms")
      phone.faults.hangingSubscription = nil
      clock.advance(by: .milliseconds(500))
      try await eventually { await central.status().connected }
    }
  }

  @Test("A phone that fails too often is removed until its next scan result")
  func aPhoneThatFailsTooOftenIsForgottenUntilItIsSeenAgain() async throws {
    let phone = LoopbackPhone()
    phone.faults.failingConnects = 3
    let central = central { $0.reconnection.attemptLimit = 3 }
    try await running([central.run]) {
      air.see(phone)
      await clock.advance(toSleeperAt: .milliseconds(500))
      await clock.advance(toSleeperAt: .milliseconds(1500))
      try await eventually { await central.status().phones.isEmpty }
      air.see(phone)
      try await eventually { await central.status().connected }
    }
  }

  @Test("A phone lost while waiting is replaced by another") func aPhoneThatIsLostWhileWaitingLeavesItsPlaceToAnother()
    async throws
  {
    let gone = LoopbackPhone("gone")
    let other = LoopbackPhone("other")
    gone.faults.failingConnects = 1
    let central = central { $0.phoneLimit = 1 }
    try await running([central.run]) {
      air.see(gone)
      await clock.waitForSleeper(until: .milliseconds(500))
      air.see(other)
      air.lose(gone)
      try await eventually { await states(central) == ["other": "ready"] }
    }
  }

  @Test("A lost scan result does not close a connection") func aLostSightingDoesNotEndALinkThatIsUp() async throws {
    let phone = LoopbackPhone()
    let central = central()
    try await running([central.run]) {
      air.see(phone)
      try await eventually { await central.status().connected }
      air.lose(phone)
      air.stop("scan over")
      try await eventually { await !central.status().scanning }
      #expect(await central.status().connected)
    }
  }

  @Test("The status is that of the best phone") func theStatusIsThatOfTheBestPhone() async throws {
    let near = LoopbackPhone("near")
    let far = LoopbackPhone("far")
    await near.setValue(Wire.Status(modelState: .ready, batteryPct: 80).encoded(), of: .status, for: nil)
    await far.setValue(Wire.Status(modelState: "idle").encoded(), of: .status, for: nil)
    let central = central { $0.timeouts.status = .zero }
    try await running([central.run]) {
      var scanning = CentralStatus(connected: false, scanning: true)
      scanning.route = .bluetooth
      let idle = scanning
      try await eventually { await central.status() == idle }
      air.see(near, rssi: -45)
      air.see(far, rssi: -80)
      clock.advance(by: .milliseconds(77))
      air.see(near, rssi: -44)
      try await eventually {
        let phones = await central.status().phones
        return phones.map(\.modelState) == ["ready", "idle"] && phones.first?.rssi == -44
      }
      let status = await central.status()
      #expect(status.connected)
      #expect(status.deviceName == "near")
      #expect(status.deviceId == "/loopback/near")
      #expect(status.batteryPct == 80)
      #expect(status.modelState == "ready")
      #expect(status.lastSeenMs == 1_700_000_000_077)
      // The nearer one last: while it is gone and the other one is there, the other one is the best.
      far.dropAll()
      try await eventually { await central.status().phones.count { $0.state == "ready" } == 1 }
      near.dropAll()
      try await eventually { await !central.status().connected }
      #expect(await central.status().deviceName == "near", "the name stays after the phone has gone")
    }
  }

  @Test("Cancelling the task closes all connections") func everythingEndsWithTheTask() async throws {
    let phone = LoopbackPhone()
    let central = central()
    let task = Task { await central.run() }
    air.see(phone)
    try await eventually { await central.status().connected }
    task.cancel()
    await task.value
    try await eventually { await !central.status().connected }
    var events: [PhoneTransportEvent] = []
    for await event in phone.events {
      events.append(event)
      if event == .disconnected(air.peer) { break }
    }
    #expect(events.contains(.connected(air.peer)))
  }

  @Test("The events follow the connection") func tellsWhatHappens() async throws {
    let phone = LoopbackPhone()
    await phone.setValue(Wire.Status(modelState: .ready).encoded(), of: .status, for: nil)
    let central = central { $0.timeouts.status = .zero }
    let events = await central.events()
    try await running([central.run]) {
      air.see(phone, rssi: -50)
      try await eventually { await central.status().modelState == "ready" }
    }
    let states: [PhoneConnectionState] = [.connecting, .subscribing, .ready]
    let expected: [CentralEvent] =
      [.scanning, .found(PhoneScanResult(id: phone.id, name: "phone", rssi: -50))]
      + states.map { .connection(phone.id, name: "phone", $0, failure: nil) }
      + [.status(phone.id, name: "phone", Wire.Status(modelState: .ready))]
    var found: [CentralEvent] = []
    for await event in events.prefix(expected.count) { found.append(event) }
    #expect(found == expected)
  }
}
