import Testing

@testable import Coverage

/// The numbers are those of the acceptance cases of the facts about coverage clients.
@Suite("The activation of sessions") struct PingActivationTests {
  @Test("75, 87, 91: Failed activations are retried after 1, 10, 20, 40 … 120 s, and the old session never")
  func theLadder() {
    var pings = PingDriver()
    pings.connects = false
    pings.pass(to: .seconds(700))
    let pauses = zip(pings.activated.dropFirst(), pings.activated).map { $0 - $1 }
    #expect(pauses == [1, 10, 20, 40, 80, 120, 120, 120, 120].map { .seconds($0) })
    #expect(pings.sent.isEmpty)
  }

  @Test("78, 79, 88: A hung activation is given up after 5 s") func aHungActivation() {
    var pings = PingDriver()
    pings.connects = nil
    pings.pass(to: .seconds(30))
    #expect(pings.activated == [.zero, .seconds(6), .seconds(21)])
    #expect(pings.others.contains(.close(generation: 1)))
  }

  @Test("89: A successful activation begins the delays anew") func success() {
    var pings = PingDriver()
    pings.connects = false
    pings.pass(to: .seconds(35))
    pings.connects = true
    pings.pass(to: .seconds(80))
    #expect(pings.reports.last?.roundTrip != nil)
    pings.connects = false
    pings.link = .refused
    pings.pass(to: .milliseconds(81_050))
    let count = pings.activated.count
    pings.pass(to: .milliseconds(82_300))
    #expect(pings.activated.count == count + 1)
  }

  @Test("26, 76, 77: Pings of the old socket are not counted after the activation of another one") func oldPings() {
    var pings = PingDriver()
    pings.pass(to: .seconds(10))
    pings.link = .silent
    pings.pass(to: .milliseconds(13_950))
    let failures = pings.failures
    #expect(failures == 29)
    pings.link = .good
    pings.pass(to: .seconds(20))
    // The thirtieth failure led to another session; what was in flight is nobody's.
    #expect(pings.failures == 30)
    #expect(pings.sent.last?.generation == 2)
    pings.take(.received(generation: 1, .good(4_294_967_295), at: pings.now))
    #expect(pings.failures == 30)
  }

  @Test("32: A token that is none is no session") func badToken() {
    var pings = PingDriver()
    pings.grants = nil
    pings.pass(to: .seconds(1))
    pings.take(.prepared(generation: 1, CoverageGrant(session: "a", pings: nil)))
    pings.pass(to: .milliseconds(1100))
    #expect(pings.sessions == 0)
    #expect(pings.prepared.count == 2)
  }

  @Test("36–38: A ping that cannot be sent, and an error of the socket, are failures") func errors() {
    var pings = PingDriver()
    pings.link = .broken
    pings.pass(to: .milliseconds(350))
    #expect(pings.failures == 3)
    pings.link = .silent
    pings.pass(to: .milliseconds(650))
    pings.take(.receiveFailed(generation: 1))
    #expect(pings.failures == 6)
    #expect(pings.machine.pending.isEmpty)
  }

  @Test("84: A refusal during a preparation drops the old session and leaves the request alone") func refusalMeanwhile()
  {
    var pings = PingDriver()
    pings.pass(to: .seconds(10))
    pings.link = .silent
    pings.grants = nil
    pings.pass(to: .seconds(14))
    pings.link = .refused
    pings.pass(to: .seconds(15))
    let sent = pings.sent.count
    pings.pass(to: .seconds(20))
    #expect(pings.sent.count == sent)
    #expect(pings.prepared.count == 2)
    pings.link = .good
    pings.answer(true)
    pings.pass(to: .seconds(21))
    #expect(pings.sent.last?.generation == 2)
  }

  @Test("83, 93: The end of a run ends a request, an activation and the socket") func theEnd() {
    var pings = PingDriver()
    pings.grants = nil
    pings.pass(to: .seconds(1))
    pings.take(.stop)
    #expect(pings.others == [.abandonPreparation(generation: 1)])
    #expect(pings.machine.nextInstant == nil)
    pings.answer(true)
    pings.pass(to: .seconds(100))
    #expect(pings.sent.isEmpty)
    var second = PingDriver()
    second.pass(to: .seconds(1))
    second.take(.stop)
    #expect(second.others.last == .close(generation: 1))
    let reported = second.reports.count
    second.pass(to: .seconds(10))
    #expect(second.reports.count == reported)
  }

  @Test("111, 112: A run ends after 4 h, and not before") func theLimit() {
    // On Wi-Fi, where there are no pings to play 4 h of.
    var pings = PingDriver(network: .wifi)
    pings.pass(to: .milliseconds(14_399_950))
    #expect(!pings.others.contains(.timeLimit))
    pings.pass(to: .milliseconds(14_400_000))
    #expect(pings.others.contains(.timeLimit))
    #expect(pings.machine.nextInstant == nil)
  }

  @Test("A run ends at the limit of the server, which counts from its start") func theLimitOfTheServer() {
    var pings = PingDriver()
    pings.grants = nil
    pings.pass(to: .seconds(20))
    let grant = CoverageGrant(session: "a", pings: PingDriver.target(), runLimit: .seconds(40))
    pings.take(.prepared(generation: 1, grant))
    pings.pass(to: .milliseconds(39_950))
    #expect(!pings.others.contains(.timeLimit))
    let reported = pings.reports.count
    #expect(reported > 190)
    pings.pass(to: .seconds(50))
    #expect(pings.others.contains(.timeLimit))
    #expect(pings.reports.count <= reported + 1)
  }

  @Test("A program that was not run in time leaves out the pings of that time, and counts them") func stalls() {
    var machine = PingMachine(network: .cellular, sequence: 0)
    _ = machine.handle(.start, at: .zero)
    _ = machine.handle(.tick, at: .zero)
    let grant = CoverageGrant(session: "a", pings: PingDriver.target())
    _ = machine.handle(.prepared(generation: 1, grant), at: .milliseconds(10))
    _ = machine.handle(.activated(generation: 1), at: .milliseconds(10))
    _ = machine.handle(.tick, at: .milliseconds(100))
    let actions = machine.handle(.tick, at: .milliseconds(520))
    #expect(machine.stalledTicks == 3)
    #expect(actions.count { if case .send = $0 { true } else { false } } == 1)
    #expect(machine.nextInstant == .milliseconds(600))
  }
}
