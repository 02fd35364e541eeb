import Testing

@testable import Coverage

/// The numbers are those of the acceptance cases of the facts about coverage clients.
@Suite("The states of pings") struct PingMachineTests {
  @Test("48, 49: Pings begin at the tick after readiness, and are spaced by the cadence") func theBeginning() {
    var pings = PingDriver()
    pings.grants = nil
    pings.pass(to: .milliseconds(1230))
    #expect(pings.sent.isEmpty)
    pings.answer(true)
    pings.pass(to: .milliseconds(1650))
    #expect(pings.sent.map(\.at) == [1300, 1400, 1500, 1600].map { .milliseconds($0) })
    #expect(pings.reports.map(\.at) == [1300, 1400, 1500, 1600].map { .milliseconds($0) })
    #expect(pings.reports.allSatisfy { $0.roundTrip == .milliseconds(20) })
  }

  @Test("28, 35, 50: Sequences wrap, and a ping without a reply is reported after a second with its tick")
  func aSilentServer() {
    var pings = PingDriver()
    pings.link = .silent
    pings.pass(to: .milliseconds(1550))
    #expect(pings.reports.map(\.at) == [100, 200, 300, 400, 500].map { .milliseconds($0) })
    #expect(pings.failures == 5)
    pings.pass(to: .seconds(10))
    #expect(pings.machine.sequence < 1000)
  }

  @Test("51, 85, 86: An expired session is replaced, and its last tick has no ping") func theWindow() {
    var pings = PingDriver()
    pings.window = .seconds(100)
    pings.pass(to: .seconds(80))
    pings.grants = nil
    // Another one is requested 10 s before the end, and does not come.
    pings.pass(to: .milliseconds(99_950))
    #expect(pings.prepared.count == 2)
    let before = pings.sent.count
    pings.pass(to: .milliseconds(100_250))
    #expect(pings.sent.count == before)
    // The request that is under way is kept.
    #expect(pings.prepared == [.zero, .seconds(90)])
    pings.answer(true)
    pings.pass(to: .seconds(101))
    #expect(pings.sent.count > before)
    #expect(pings.sessions == 2)
  }

  @Test("A session is replaced before it expires without the loss of a ping") func theRenewal() {
    var pings = PingDriver()
    pings.window = .seconds(100)
    pings.pass(to: .milliseconds(200_050))
    #expect(pings.failures == 0)
    #expect(pings.sent.count >= 2000)
    #expect(pings.prepared.count == 3)
  }

  @Test("30, 52, 53: A refused token cuts the session at once, unreported, and leads to one new session")
  func aRefusal() {
    var pings = PingDriver()
    pings.pass(to: .milliseconds(950))
    let reported = pings.reports.count
    pings.link = .refused
    pings.pass(to: .milliseconds(1010))
    pings.link = .good
    pings.pass(to: .seconds(2))
    #expect(pings.prepared.count == 2)
    #expect(pings.failures == 0)
    #expect(pings.reports.count > reported)
  }

  @Test("Refusal after refusal is slowed down, and reported once") func aMismatch() {
    var pings = PingDriver()
    pings.link = .refused
    pings.pass(to: .seconds(600))
    #expect(pings.prepared.count < 12)
    #expect(pings.others.count { $0 == .addressMismatch } == 1)
    #expect(pings.reports.isEmpty)
    pings.link = .good
    pings.pass(to: .seconds(800))
    #expect(pings.reports.allSatisfy { $0.roundTrip != nil })
    #expect(!pings.reports.isEmpty)
  }

  @Test("31, 81: A refusal of a ping that nobody has sent, or of an old session, cuts nothing") func strayRefusals() {
    var pings = PingDriver()
    pings.pass(to: .seconds(1))
    pings.take(.received(generation: 1, .refused(77), at: pings.now))
    pings.take(.received(generation: 0, .refused(4_294_967_295), at: pings.now))
    pings.pass(to: .seconds(2))
    #expect(pings.prepared.count == 1)
    #expect(pings.failures == 0)
  }

  @Test("54, 55: On Wi-Fi nothing is requested or sent; afterwards there is exactly one session") func wifiAtTheStart()
  {
    var pings = PingDriver(network: .wifi)
    pings.pass(to: .seconds(60))
    #expect(pings.prepared.isEmpty)
    pings.take(.network(.cellular))
    pings.pass(to: .seconds(120))
    #expect(pings.prepared.count == 1)
    #expect(pings.sessions == 1)
  }

  @Test("56, 58, 59: Wi-Fi discards what is in flight, and the return to the mobile network refreshes the session")
  func wifiInBetween() {
    var pings = PingDriver()
    pings.pass(to: .milliseconds(5010))
    pings.take(.network(.wifi))
    let reported = pings.reports.count
    pings.pass(to: .seconds(20))
    #expect(pings.reports.count == reported)
    pings.take(.network(.cellular))
    pings.pass(to: .seconds(21))
    #expect(pings.prepared.count == 2)
    #expect(pings.reports.count > reported)
    #expect(pings.failures == 0)
  }

  @Test("57: Without any network, pings go on and fail") func noNetwork() {
    var pings = PingDriver()
    pings.pass(to: .seconds(5))
    pings.link = .broken
    pings.take(.network(CoverageNetwork.none))
    pings.pass(to: .seconds(10))
    #expect(pings.failures >= 49)
    #expect(pings.prepared.count == 1)
    pings.link = .good
    pings.take(.network(.cellular))
    pings.pass(to: .seconds(12))
    #expect(pings.reports.last?.roundTrip != nil)
  }

  @Test("60: A session that was requested before Wi-Fi is requested again after it") func wifiDuringPreparation() {
    var pings = PingDriver()
    pings.grants = nil
    pings.pass(to: .seconds(1))
    pings.take(.network(.wifi))
    #expect(pings.others.contains(.abandonPreparation(generation: 1)))
    pings.answer(true)
    pings.pass(to: .seconds(5))
    #expect(pings.sessions == 0)
    pings.grants = true
    pings.take(.network(.cellular))
    pings.pass(to: .seconds(7))
    #expect(pings.sessions == 1)
    #expect(pings.prepared.count == 2)
  }

  @Test("61: Switching to and fro leads to one new session for each delay") func flapping() {
    var pings = PingDriver()
    pings.pass(to: .seconds(5))
    pings.link = .silent
    for _ in 0..<20 {
      pings.take(.network(.wifi))
      pings.pass(.milliseconds(200))
      pings.take(.network(.cellular))
      pings.pass(.milliseconds(200))
    }
    #expect(pings.prepared.count == 2)
  }

  @Test("63–67: Thirty failures replace the session; the delays are 0, 10, 20, 40, 80, 120 s") func theLadder() {
    var pings = PingDriver()
    pings.pass(to: .seconds(10))
    pings.link = .silent
    pings.grants = false
    pings.pass(to: .seconds(500))
    let first = pings.prepared[1]
    // The 30th ping without a reply was due at 13 s, and is over a second later.
    #expect(first == .seconds(14))
    #expect(pings.prepared.dropFirst().map { $0 - first } == [0, 10, 30, 70, 150, 270, 390].map { .seconds($0) })
  }

  @Test("65, 66, 70, 71: A success resets the count of failures") func fewerFailures() {
    var pings = PingDriver()
    for _ in 0..<20 {
      pings.link = .silent
      pings.pass(.milliseconds(2900))
      pings.link = .good
      pings.pass(.milliseconds(1100))
    }
    #expect(pings.prepared.count == 1)
    #expect(pings.failures == 20 * 29)
  }

  @Test("68: A success begins the delays anew") func successRestartsTheLadder() {
    var pings = PingDriver()
    pings.pass(to: .seconds(10))
    pings.link = .silent
    pings.grants = false
    pings.pass(to: .seconds(100))
    pings.link = .good
    pings.pass(to: .seconds(101))
    pings.link = .silent
    let before = pings.prepared.count
    pings.pass(to: .seconds(115))
    #expect(pings.prepared.count == before + 1)
  }

  @Test("69, 72, 82: The old session is used during a preparation; if it recovers, a failed one is not retried")
  func recoveryByItself() {
    var pings = PingDriver()
    pings.pass(to: .seconds(10))
    pings.link = .silent
    pings.grants = nil
    pings.pass(to: .seconds(14))
    #expect(pings.prepared.count == 2)
    pings.pass(to: .seconds(20))
    #expect(pings.prepared.count == 2)
    #expect(pings.sent.last?.generation == 1)
    pings.link = .good
    pings.pass(to: .seconds(22))
    pings.answer(false)
    pings.pass(to: .seconds(300))
    #expect(pings.prepared.count == 2)
    #expect(pings.reports.last?.roundTrip != nil)
  }

  @Test("73, 74: A hung preparation is given up after 15 s, and retried at the next delay") func aHungPreparation() {
    var pings = PingDriver()
    pings.pass(to: .seconds(10))
    pings.link = .silent
    pings.grants = nil
    pings.pass(to: .seconds(60))
    #expect(pings.others.contains(.abandonPreparation(generation: 2)))
    #expect(pings.prepared.dropFirst() == [.seconds(14), .seconds(29), .seconds(49)])
    #expect(pings.sent.last?.generation == 1)
  }

  @Test("80, 90: The first request of a run has no time limit, and those after a failure are a second apart")
  func offline() {
    var pings = PingDriver()
    pings.grants = nil
    pings.pass(to: .seconds(3000))
    #expect(pings.prepared.count == 1)
    pings.grants = false
    pings.answer(false)
    pings.pass(to: .seconds(3010))
    #expect(pings.prepared.count == 11)
    #expect(pings.reports.isEmpty)
  }

  @Test("12, 13: Without a network nothing is requested; a second after it has returned a session is")
  func theNetworkReturns() {
    var pings = PingDriver(network: .none)
    pings.pass(to: .seconds(100))
    #expect(pings.prepared.isEmpty)
    pings.take(.network(.cellular))
    pings.pass(to: .seconds(102))
    #expect(pings.prepared == [.seconds(101)])
  }
}
