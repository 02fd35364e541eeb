import EdgeCoderTesting
import Testing

@testable import EdgeCoder

@Suite("The limits of one central at a phone") struct LimitTests {
  private let a = PeerID("a")
  private let b = PeerID("b")

  // MARK: The bucket

  @Test("A bucket holds the tokens of a minute and refills evenly") func aBucketHoldsAMinuteAndFillsUpEvenly() {
    var bucket = TokenBucket(perMinute: 60, at: .zero)
    for _ in 0..<60 {
      #expect(bucket.wait(at: .zero) == .zero)
      bucket.charge(1, at: .zero)
    }
    #expect(bucket.wait(at: .zero) == .seconds(1))
    #expect(bucket.wait(at: .milliseconds(500)) == .milliseconds(500))
    #expect(bucket.wait(at: .seconds(1)) == .zero)
    bucket.charge(1, at: .seconds(1))
    #expect(bucket.wait(at: .seconds(1)) == .seconds(1))
    #expect(!bucket.isFull(at: .seconds(60)))
    #expect(bucket.isFull(at: .seconds(61)))
    #expect(bucket.isFull(at: .seconds(1000)))
  }

  @Test("A debt is at most the tokens of a minute") func aDebtIsAMinuteAtMost() {
    var bucket = TokenBucket(perMinute: 60, at: .zero)
    bucket.charge(.max, at: .zero)
    #expect(bucket.wait(at: .zero) == .seconds(61))
    // A clock that goes back brings nothing.
    #expect(bucket.wait(at: .seconds(-1000)) == .seconds(61))
    #expect(bucket.isFull(at: .seconds(120)))
  }

  // MARK: Centrals

  private func configuration(_ change: (inout PhoneConfiguration) -> Void) -> PhoneConfiguration {
    var configuration = PhoneConfiguration()
    change(&configuration)
    return configuration
  }

  @Test("The rates of centrals are bounded and keep the largest debts")
  func theMemoryOfCentralsIsBoundedAndKeepsWhoOwesMost() {
    var rates = PeerRates(
      configuration {
        $0.peerLimit = 1  // four are remembered
        $0.rates.requestsPerMinute = 60
      })
    for _ in 0..<90 { _ = rates.admit(a, at: .zero) }
    for number in 0..<1000 { rates.charge(PeerID("\(number)"), bytes: 1, at: .zero) }
    #expect(rates.count == 4)
    // What was refused cost nothing.
    let shortage = rates.admit(a, at: .milliseconds(500))
    #expect(shortage == .requests(.milliseconds(500)))
    // All have their minute again; there is room without forgetting who has not.
    _ = rates.admit(a, at: .seconds(300))
    rates.charge(b, bytes: 1, at: .seconds(300))
    #expect(rates.count == 2)
  }

  private func machine(_ change: (inout PhoneConfiguration) -> Void) -> PhoneMachine {
    var machine = PhoneMachine(configuration: configuration(change), addressesSinglePeer: true)
    _ = machine.handle(.transportUp, at: .zero)
    return machine
  }

  private func ask(
    _ machine: inout PhoneMachine, _ peer: PeerID, _ id: String, prompt: String = "p", at now: Duration = .zero
  ) {
    let bytes = Wire.Request(id: id, prompt: prompt).encoded()
    _ = machine.handle(.write(PhoneWrite(peer: peer, bytes: bytes, mtu: 517)), at: now)
  }

  /// Sends what is to be sent.
  private func replies(
    of machine: inout PhoneMachine, from start: Duration = .seconds(1000)
  ) throws -> [Wire.Response] {
    var replies: [Wire.Response] = []
    var now = start
    while case .send(let chunk, _) = machine.nextSend(at: now) {
      replies.append(try Wire.Response.decode(chunk))
      _ = machine.didSend(at: now)
      now += .seconds(1)
    }
    return replies
  }

  @Test("A central over its request rate is refused as busy") func whoAsksTooOftenIsToldThatThePhoneIsBusy() throws {
    var machine = machine { $0.rates.requestsPerMinute = 3 }
    for number in 1...4 { ask(&machine, a, "\(number)") }
    ask(&machine, b, "1")
    #expect(machine.queue.waiting.count == 4)
    let output = "[busy: the limit is 3 requests per minute; retry in 21 s]"
    let told = try replies(of: &machine)
    #expect(told == [Wire.Response(id: "4", output: output, ok: false, durationMs: 0)])
    // A new link is no new minute.
    _ = machine.handle(.disconnected(a), at: .zero)
    ask(&machine, a, "5")
    #expect(machine.counters.refused.limited == 2)
    #expect(machine.counters.refused.busy == 2)
    ask(&machine, a, "6", at: .seconds(61))
    #expect(machine.queue.waiting.map(\.request.id) == ["1", "6"])
  }

  @Test("A central over its byte rate is refused as busy") func whoWritesTooMuchIsToldThatThePhoneIsBusy() throws {
    var machine = machine { $0.rates.bytesPerMinute = 1000 }
    // No request, and not free of charge.
    let noise = PhoneWrite(peer: a, bytes: Array(repeating: UInt8(ascii: "x"), count: 1500), mtu: 517)
    _ = machine.handle(.write(noise), at: .zero)
    ask(&machine, a, "1")
    ask(&machine, b, "2", prompt: String(repeating: "p", count: 800))
    #expect(machine.queue.waiting.map(\.request.id) == ["2"])
    let told = try replies(of: &machine)
    #expect(told.map(\.id) == ["1"])
    #expect(machine.counters.refused.limited == 1)
    ask(&machine, a, "3", at: .seconds(60))
    #expect(machine.queue.waiting.map(\.request.id) == ["2", "3"])
  }

  @Test("One central does not fill the queue") func oneCentralDoesNotFillTheQueue() throws {
    var machine = machine { $0.queue.limitPerCentral = 2 }
    ask(&machine, a, "1")
    let job = machine.startJob()
    #expect(job?.request.id == "1")
    for number in 2...4 { ask(&machine, a, "\(number)") }
    ask(&machine, b, "5")
    #expect(machine.queue.waiting.map(\.request.id) == ["2", "5"])
    let replies = try replies(of: &machine)
    #expect(replies.map(\.id) == ["3", "4"])
    #expect(replies.first?.output == "[busy: 2 of your requests are waiting]")
  }

  @Test("A request that is refused because the queue is full costs nothing") func aFullQueueCostsNothing() throws {
    var machine = machine {
      $0.rates.requestsPerMinute = 4
      $0.queue.limitPerCentral = 1
    }
    for number in 1...50 { ask(&machine, a, "\(number)") }
    for number in 51...53 {
      let job = machine.startJob()
      _ = machine.finish(try #require(job).number, JobOutcome(.text("o"), durationMs: 1))
      _ = try replies(of: &machine, from: .seconds(1000 * number))
      ask(&machine, a, "\(number)")
    }
    #expect(machine.counters.refused.busy == 49)
    #expect(machine.counters.refused.limited == 49)
    let last = machine.startJob()
    _ = machine.finish(try #require(last).number, JobOutcome(.text("o"), durationMs: 1))
    ask(&machine, a, "54")
    let told = try replies(of: &machine, from: .seconds(1_000_000))
    #expect(told.last?.output.hasPrefix("[busy: the limit is 4 requests per minute") == true)
  }

  @Test("Malformed input over the rate gets no replies") func noiseOverTheLimitGetsNoRepliesAndNobodyWaitsForThem()
    throws
  {
    var machine = machine {
      $0.rates.requestsPerMinute = 5
      $0.refusals.limitPerCentral = 3
    }
    for _ in 0..<100 {
      _ = machine.handle(.write(PhoneWrite(peer: a, bytes: Array(#"{"id":"x","prompt":1}"#.utf8), mtu: 517)), at: .zero)
    }
    ask(&machine, a, "1")
    _ = machine.handle(.write(PhoneWrite(peer: b, bytes: Array(#"{"id":"y"}"#.utf8), mtu: 517)), at: .zero)
    let told = try replies(of: &machine)
    #expect(told.map(\.id) == ["x", "x", "x", "y"])
    #expect(machine.counters.refused.malformed == 101)
    // Two malformed ones within the rate, and the request.
    #expect(machine.counters.refused.unsent == 3)
  }

  @Test("A refusal is logged without content") func aRefusalIsNotedWithoutContent() {
    var machine = machine { $0.rates.requestsPerMinute = 1 }
    ask(&machine, a, "1")
    let write = PhoneWrite(peer: a, bytes: Wire.Request(id: "2", prompt: "secret").encoded(), mtu: 517)
    let actions = machine.handle(.write(write), at: .zero)
    let report = PhoneEvent.request(number: 2, bytes: write.bytes.count, waiting: 0)
    #expect(actions == [.logRefusal(a, .tooManyRequests), .wakeSender, .report(report), .report(.busy)])
  }
}
