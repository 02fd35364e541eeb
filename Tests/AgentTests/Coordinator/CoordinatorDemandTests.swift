import Foundation
import Testing
import Timing

@testable import Agent

@Suite("What a coordinator demands, and the user") struct CoordinatorDemandTests {
  private static let taken = #"{"ok":true}"#

  private func answer(_ status: Int, _ text: String = "", retryAfter: Duration?) -> CoordinatorMachine.Outcome {
    .answer(CoordinatorAnswer(status: status, body: Data(text.utf8), retryAfter: retryAfter))
  }

  /// Returns the requests with their instants until an instant, each answered well.
  private func requests(_ bench: inout CoordinatorBench, until end: Duration) -> [(Duration, CoordinatorMachine.Call)] {
    var sent: [(Duration, CoordinatorMachine.Call)] = []
    while let next = bench.machine.wakeAt, next <= end {
      var calls = bench.wait().calls
      while !calls.isEmpty {
        let call = calls.removeFirst()
        sent.append((bench.now, call))
        calls += bench.hear(call, 200, call == .pull ? #"{"subtask":null}"# : Self.taken, after: .zero).calls
      }
    }
    return sent
  }

  @Test("After a minute without a task the requests for one are 5 s apart, after ten 15 s, until there is one")
  func itRests() {
    var bench = CoordinatorBench()
    bench.connect()
    let began = bench.now
    _ = bench.hear(.pull, 200, #"{"subtask":null}"#, after: .zero)
    let pulls = requests(&bench, until: began + .seconds(660)).filter { $0.1 == .pull }.map { $0.0 - began }
    func gaps(_ instants: [Duration]) -> Set<Duration> { Set(zip(instants.dropFirst(), instants).map { $0 - $1 }) }
    #expect(gaps(pulls.filter { $0 < .seconds(60) }) == [.milliseconds(1200)])
    #expect(gaps(pulls.filter { (.seconds(63) ..< .seconds(600)).contains($0) }) == [.seconds(5)])
    #expect(gaps(pulls.filter { $0 > .seconds(606) }) == [.seconds(15)])
    _ = bench.on(.tick, after: .seconds(15))
    _ = bench.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":"x"}}"#)
    _ = bench.on(.worked("s", .answered("a fine answer")), after: .seconds(2))
    #expect(bench.machine.work.nextPull.map { $0 - bench.now } == .milliseconds(1200))
  }

  @Test("After ten minutes without a task each request for one follows a heartbeat, except one that is asked for")
  func itSleeps() {
    var bench = CoordinatorBench()
    bench.connect()
    let began = bench.now
    _ = bench.hear(.pull, 200, #"{"subtask":null}"#, after: .zero)
    let sent = requests(&bench, until: began + .seconds(900)).filter { $0.0 - began > .seconds(620) }
    #expect(sent.count > 30)
    for (index, (instant, call)) in sent.enumerated() where call == .pull && index > 0 {
      #expect(sent[index - 1] == (instant, .heartbeat))
    }
    // A heartbeat that is not answered leads to none.
    #expect(bench.wait().calls == [.heartbeat])
    #expect(
      bench.on(.ended(.heartbeat, .none(CoordinatorTransportError("no answer", mayHaveArrived: true)))).calls.isEmpty)
    #expect(bench.on(.askNow).calls.contains(.pull))
    #expect(bench.hear(.pull, 200, #"{"subtask":null}"#).calls.isEmpty)
  }

  @Test(
    "Retry-After delays the next request of its kind, for an hour at most",
    arguments: [(429, 40.0, 40.0), (503, 120, 120), (500, 90, 90), (503, 1e6, 3600), (403, 900, 900)])
  func retryAfter(status: Int, demanded: Double, waited: Double) {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":null}"#)
    while bench.wait().calls != [.heartbeat] { _ = bench.hear(.pull, 200, #"{"subtask":null}"#) }
    _ = bench.on(.ended(.heartbeat, answer(status, retryAfter: .seconds(demanded))))
    let heard = bench.now
    var calls: [CoordinatorMachine.Call] = []
    while calls != [.heartbeat] {
      calls = bench.wait().calls
      if calls == [.pull] { _ = bench.hear(.pull, 200, #"{"subtask":null}"#) }
    }
    #expect(bench.now - heard == .seconds(waited))
  }

  @Test("Retry-After delays requests for work and results") func retryAfterOfWork() {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.on(.ended(.pull, answer(503, retryAfter: .seconds(70))))
    let pulled = bench.now
    #expect(requests(&bench, until: .seconds(60)).allSatisfy { $0.1 == .heartbeat })
    #expect(requests(&bench, until: .seconds(80)).first { $0.1 == .pull }?.0 == pulled + .seconds(70))
    // A number that was sent with success, and one below zero, change nothing.
    #expect(answer(200, retryAfter: .seconds(9)).retryAfter == nil)
    #expect(answer(503, retryAfter: .seconds(-9)).retryAfter == .zero)
  }

  @Test("A user who asks now is asked for also after a refusal") func askNow() {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":null}"#)
    while bench.wait().calls != [.heartbeat] { _ = bench.hear(.pull, 200, #"{"subtask":null}"#) }
    #expect(bench.hear(.heartbeat, 403, #"{"error":"agent_blacklisted"}"#).contains(.refused("403 agent_blacklisted")))
    _ = bench.on(.stop)
    _ = bench.on(.leave)
    #expect(bench.on(.start, after: .seconds(20)) == [.refused("403 agent_blacklisted")])
    _ = bench.on(.stop)
    _ = bench.on(.leave)
    _ = bench.on(.askNow)
    #expect(bench.on(.start).calls == [.heartbeat])
  }

  @Test("A coordinator pushes a look for tasks and for uploads") func push() {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":null,"powerDeferred":true,"deferMs":600000}"#)
    while bench.wait().calls != [.heartbeat] {}
    let actions = bench.hear(.heartbeat, 200, #"{"ok":true,"push":["uploads","tasks","news",7]}"#)
    // One element of another type makes the list none.
    #expect(!actions.contains(.pushed(.uploads)))
    while bench.wait().calls != [.heartbeat] {}
    let next = bench.hear(.heartbeat, 200, #"{"ok":true,"push":["uploads","news","tasks"]}"#)
    #expect(next.contains(.pushed(.uploads)))
    #expect(next.contains(.pushed(.tasks)))
    #expect(next.calls == [.pull])
  }

  @Test("An outage has begun with the first of three failures in a row, and ends with a heartbeat") func outage() {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.on(.model(CoordinatorModel(isReady: false)))
    while bench.wait().calls != [.heartbeat] {}
    let began = bench.now + .milliseconds(10)
    for _ in 0..<3 {
      #expect(bench.machine.connection.unreachableSince == nil)
      _ = bench.on(.ended(.heartbeat, .none(.init("nothing answers", mayHaveArrived: false))), after: .milliseconds(10))
      while bench.wait().calls != [.heartbeat] {}
    }
    #expect(bench.machine.connection.unreachableSince == began)
    #expect(bench.machine.heartbeat.failed == 3)
    _ = bench.hear(.heartbeat, 200, Self.taken)
    #expect(bench.machine.connection.unreachableSince == nil)
  }
}

@Suite("A network whose traffic is to be spared") struct SparingTests {
  @Test("An idle machine sends a heartbeat and a request for work every four minutes") func idle() {
    var bench = CoordinatorBench()
    bench.machine.isSparing = true
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":null}"#)
    var counts: [CoordinatorMachine.Call: Int] = [:]
    var last = bench.now
    while bench.now < .seconds(86_400) {
      for call in bench.wait().calls {
        counts[call, default: 0] += 1
        if call == .heartbeat {
          // Less than the coordinator's five minutes.
          #expect(bench.now - last < .seconds(260))
          last = bench.now
        }
        _ = bench.hear(call, 200, call == .pull ? #"{"subtask":null}"# : #"{"ok":true}"#)
      }
    }
    #expect(counts[.heartbeat, default: 0] <= 361)
    #expect(counts[.pull, default: 0] <= 361)
    #expect(counts[.pull, default: 0] > 300)
  }

  @Test("A machine with a task sends heartbeats as usual") func working() {
    var bench = CoordinatorBench()
    bench.machine.isSparing = true
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":"x"}}"#)
    let begun = bench.now
    #expect(bench.wait().calls == [.heartbeat])
    #expect(bench.now - begun < .seconds(16))
  }

  @Test("A heartbeat that fails is repeated at once, and the network that costs nothing is used again") func failure() {
    var bench = CoordinatorBench()
    bench.machine.isSparing = true
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":null}"#)
    var calls: [CoordinatorMachine.Call] = []
    while calls.isEmpty { calls = bench.wait().calls }
    #expect(calls.contains(.heartbeat))
    let sent = bench.now
    #expect(sent > .seconds(230))
    _ = bench.hear(.heartbeat, 500, "")
    while bench.wait().calls != [.heartbeat] {}
    #expect(bench.now - sent < .seconds(3))
    _ = bench.hear(.heartbeat, 200, #"{"ok":true}"#)
    bench.machine.isSparing = false
    let cheap = bench.now
    calls = []
    while calls != [.heartbeat] {
      calls = bench.wait().calls
      if calls == [.pull] { _ = bench.hear(.pull, 200, #"{"subtask":null}"#) }
    }
    #expect(bench.now - cheap < .seconds(16))
  }
}

@Suite("Work after a gap in the heartbeats") struct AfterGapTests {
  /// A machine whose last heartbeat is ten minutes old.
  private func bench(_ conduct: AfterGap, strikes: [Duration] = []) -> CoordinatorBench {
    var session = CoordinatorSession()
    session.enrolment = .registered
    session.heartbeats = .accepted(last: .seconds(-600))
    session.strikes = strikes
    var bench = CoordinatorBench()
    bench.machine = CoordinatorMachine(session, agentID: "a", afterGap: conduct)
    _ = bench.on(.start)
    _ = bench.on(.model(CoordinatorModel(isReady: true)))
    return bench
  }

  /// Works on what is asked for until an instant, and returns the instants of the results.
  private func results(_ bench: inout CoordinatorBench, until end: Duration) -> [Duration] {
    var sent: [Duration] = []
    var calls = bench.hear(.heartbeat, 200, #"{"ok":true}"#).calls
    var number = 0
    while bench.now < end {
      guard !calls.isEmpty else {
        calls = bench.wait().calls
        continue
      }
      switch calls.removeFirst() {
      case .pull:
        number += 1
        let task = #"{"subtask":{"id":"s\#(number)","taskId":"T","input":"x"}}"#
        calls += bench.hear(.pull, 200, task).calls
        let words = "answer \(number) of some length"
        calls += bench.on(.worked("s\(number)", .answered(words)), after: .seconds(2 + number % 3)).calls
      case .result(let result):
        sent.append(bench.now)
        calls += bench.hear(.result(result), 200, "{}").calls
      case let call: calls += bench.hear(call, 200, #"{"ok":true}"#).calls
      }
    }
    return sent
  }

  @Test("Two results within an hour are the price, one less than a ban") func thePrice() {
    var bench = bench(.work)
    let sent = results(&bench, until: .seconds(2900))
    #expect(sent.count == 2)
    #expect(sent.allSatisfy { $0 < .seconds(120) })
    #expect(bench.machine.work.counters.held == "heartbeat_gap")
    #expect(bench.machine.session.strikes == sent)
    // Then the heartbeat before the gap is an hour old.
    #expect(!results(&bench, until: .seconds(3300)).isEmpty)
  }

  @Test("Strikes of the hour before count as well") func earlierStrikes() {
    var one = bench(.work, strikes: [.seconds(-900)])
    #expect(results(&one, until: .seconds(600)).count == 1)
    var two = bench(.work, strikes: [.seconds(-900), .seconds(-800)])
    #expect(results(&two, until: .seconds(600)).isEmpty)
  }

  @Test("While results of the past may be unknown, nothing but heartbeats is sent") func unknownPast() {
    var session = CoordinatorSession()
    session.enrolment = .registered
    session.heartbeats = .accepted(last: .seconds(-600))
    session.quietUntil = .seconds(3690)
    session.unknownUntil = .seconds(3690)
    var bench = CoordinatorBench()
    bench.machine = CoordinatorMachine(session, agentID: "a", afterGap: .work)
    _ = bench.on(.start)
    _ = bench.on(.model(CoordinatorModel(isReady: true)))
    #expect(results(&bench, until: .seconds(2900)).isEmpty)
    #expect(bench.machine.session.unknownUntil == .seconds(3690))
  }

  @Test("A user can have the machine wait instead") func waiting() {
    var bench = bench(.wait)
    #expect(results(&bench, until: .seconds(2900)).isEmpty)
  }

  @Test("A result that certainly has not arrived is no strike") func notArrived() {
    var bench = bench(.work)
    _ = bench.hear(.heartbeat, 200, #"{"ok":true}"#)
    _ = bench.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":"x"}}"#)
    #expect(bench.on(.worked("s", .answered("an answer of some length")), after: .seconds(2)).calls == [.result(1)])
    #expect(bench.machine.session.strikes.count == 1)
    _ = bench.on(.ended(.result(1), .none(.init("nothing answers", mayHaveArrived: false))))
    #expect(bench.machine.session.strikes.isEmpty)
  }
}

@Suite("Results that are about an hour old") struct ConductWindowTests {
  /// The coordinator drops a result after an hour, and counts one that arrives later than it was sent.
  @Test("A result that the coordinator may have dropped excuses no other") func oldResults() {
    func result(_ number: Int, _ milliseconds: Int64) -> ResultRequest {
      ResultRequest(
        subtaskId: "s\(number)", taskId: "T", agentId: "a", ok: true, output: "answer \(number) of some length",
        durationMs: milliseconds)
    }
    var conduct = Conduct()
    conduct.note(result(1, 60_000), atMs: 0)
    conduct.note(result(2, 100), atMs: 1_000_000)
    conduct.note(result(3, 100), atMs: 2_000_000)
    // With the slow one the mean is far above a second; without it three fast ones are a ban.
    #expect(conduct.wait(for: result(4, 100), atMs: 3_000_000) == nil)
    for age in [3_580_000, 3_600_001, 3_629_000] as [Int64] {
      #expect(conduct.wait(for: result(4, 100), atMs: age)?.objection == .answersTooFast, "\(age)")
    }
  }
}
