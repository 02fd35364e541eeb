import Foundation
import SystemState
import Testing
import Timing

@testable import Agent

@Suite("The state machine of the coordinator session") struct CoordinatorMachineTests {
  @Test("A heartbeat precedes any work and is sent every 15 s") func aHeartbeatGoesBeforeWorkAndEveryFifteenSeconds() {
    var bench = CoordinatorBench()
    #expect(bench.on(.start) == [.save, .send(.register, isSigned: false)])
    #expect(bench.on(.model(CoordinatorModel(isReady: true))).calls == [])
    #expect(bench.hear(.register, 200, #"{"accepted":true,"meshToken":"t"}"#).calls == [.heartbeat])
    let effects = bench.hear(.heartbeat, 200, #"{"ok":true,"requeued":0,"news":{"of":["later"]}}"#)
    #expect(effects.contains(.connected))
    #expect(effects.calls == [.pull])
    // A task for a minute: heartbeats go on.
    let task = #"{"subtask":{"id":"s","taskId":"T","input":"x","timeoutMs":60000,"snapshotRef":"r"}}"#
    #expect(
      bench.hear(.pull, 200, task).contains(
        .work(CoordinatorTask(id: "s", taskID: "T", input: "x", timeLimit: .seconds(60)))))
    var sent: [Duration] = []
    for _ in 0..<4 {
      #expect(bench.wait().calls == [.heartbeat])
      sent.append(bench.now)
      _ = bench.hear(.heartbeat, 200, #"{"ok":true}"#)
    }
    #expect(zip(sent, sent.dropFirst()).allSatisfy { $1 - $0 == .seconds(15) })
    #expect(bench.machine.session.meshToken == "t")
    #expect(bench.machine.session.registrations.count == 1)
  }

  @Test("Each task leads to exactly one result") func eachTaskBecomesOneResult() {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":"x"}}"#)
    #expect(bench.on(.worked("s", .answered("a fine answer")), after: .seconds(2)) != [])
    let result = bench.machine.outbox.results.first
    #expect(result?.ok == true)
    #expect(result?.output == "a fine answer")
    #expect(result?.durationMs == 2000)
    #expect(bench.on(.worked("s", .answered("late"))).kept == nil)
    // The coordinator cannot take it; then it can.
    _ = bench.hear(.result(1), 500, "")
    #expect(bench.machine.outbox.items.count == 1)
    bench.now += .seconds(2)
    #expect(bench.on(.tick).calls.contains(.result(1)))
    #expect(bench.hear(.result(1), 200, #"{"ok":true}"#).contains(.discard(1)))
    #expect(bench.machine.outbox.items.isEmpty)
    #expect(bench.machine.work.counters.done == 1)
  }

  /// What an answer to a heartbeat leads to: which call is next, and after how long.
  @Test(
    "The response to a heartbeat decides the next request and its delay",
    arguments: [
      (401, #"{"error":"mesh_unauthorized","reason":"agent_not_registered"}"#, "/register", 15.0),
      (401, #"{"error":"mesh_unauthorized"}"#, "/register", 15.0),
      (401, #"{"error":"signature_invalid"}"#, "/heartbeat", 0.0),
      (403, #"{"error":"agent_blacklisted"}"#, "/heartbeat", 600.0),
      (200, #"{"ok":false,"blacklisted":true,"reason":"forged_results"}"#, "/heartbeat", 600.0),
      (500, "", "/heartbeat", 0.75), (429, "", "/heartbeat", 0.75), (200, "<html>", "/heartbeat", 0.75),
      (200, #"{"ok":"yes"}"#, "/heartbeat", 0.75), (404, "", "/heartbeat", 0.75), (200, "", "/heartbeat", 0.75),
    ])
  func afterAHeartbeat(status: Int, body: String, path: String, seconds: Double) {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":null}"#)
    // No work meanwhile, which this is not about.
    _ = bench.on(.model(CoordinatorModel(isReady: false)))
    while bench.wait().calls != [.heartbeat] {}
    let lastRegistration = bench.machine.session.registrations[0]
    var calls = bench.hear(.heartbeat, status, body).calls
    let heard = bench.now
    while calls.isEmpty { calls = bench.wait().calls.filter { $0 != .pull } }
    #expect(calls.map(\.path) == [path])
    let since = path == "/register" ? lastRegistration : heard
    #expect(bench.now - since >= .seconds(seconds))
    #expect(bench.now - heard <= .seconds(seconds + 0.1))
    #expect(bench.machine.session.heartbeats.last ?? heard < heard || body.contains("not_registered"))
  }

  @Test("A refused machine stops and reports the reason") func whoIsRefusedStopsAndSaysWhy() {
    var bench = CoordinatorBench()
    _ = bench.on(.start)
    let effects = bench.hear(.register, 403, #"{"error":"node_not_activated","reason":"email_unverified"}"#)
    #expect(effects.contains(.refused("403 node_not_activated (email_unverified)")))
    _ = bench.on(.stop)
    // Run again, it says the same without asking.
    #expect(bench.on(.start, after: .seconds(60)) == [.refused("403 node_not_activated (email_unverified)")])
    _ = bench.on(.stop)
    #expect(bench.on(.start, after: .seconds(600)).calls == [.register])
  }

  @Test("A heartbeat finds out whether an uncertain registration arrived")
  func aRegistrationWhoseFateIsUnknownIsAskedAboutFirst() {
    var bench = CoordinatorBench()
    _ = bench.on(.start)
    _ = bench.on(.ended(.register, .none(.init("no answer", mayHaveArrived: true))), after: .seconds(15))
    #expect(bench.wait().contains(.send(.heartbeat, isSigned: false)))
    // One that never got there does not count.
    var other = CoordinatorBench()
    _ = other.on(.start)
    for _ in 0..<50 {
      _ = other.on(.ended(.register, .none(.init("nothing answers", mayHaveArrived: false))))
      #expect(other.wait().calls == [.register])
    }
    #expect(other.machine.session.registrations.count == 1)
  }

  /// The coordinator may take a heartbeat after a silence of which nobody hears, for the program is killed; what follows
  /// much later must know of it.
  @Test("A heartbeat after a gap is written to disk before it is sent")
  func aHeartbeatAfterASilenceIsWrittenDownBeforeItIsSent() throws {
    var session = CoordinatorSession()
    session.enrolment = .registered
    session.heartbeats = .accepted(last: .seconds(-14_000))
    var bench = CoordinatorBench(session)
    let effects = bench.on(.start)
    let save = try #require(effects.firstIndex(of: .save))
    #expect(save < effects.firstIndex(of: .send(.heartbeat, isSigned: false)) ?? 0)
    #expect(bench.machine.heartbeat.history.sent == .zero)
    // An hour later, with what was on disk.
    session.heartbeats = .accepted(last: .seconds(-17_546), unsure: .seconds(-3546))
    var next = CoordinatorBench(session)
    _ = next.on(.start)
    _ = next.hear(.heartbeat, 200, #"{"ok":true}"#)
    #expect(next.machine.session.quietUntil == .seconds(-3546) + CoordinatorSession.quiet)
    #expect(next.machine.heartbeat.history == .accepted(last: next.now))
  }

  /// It was set because nobody knew what had happened; that an old heartbeat is known makes nothing better.
  @Test("A heartbeat does not shorten the quiet time after a gap") func aHeartbeatEndsNoQuietSooner() {
    var session = CoordinatorSession()
    session.enrolment = .registered
    session.heartbeats = .accepted(last: .seconds(-3541))
    session.quietUntil = .seconds(3690)
    var bench = CoordinatorBench(session)
    _ = bench.on(.start)
    _ = bench.hear(.heartbeat, 200, #"{"ok":true}"#)
    #expect(bench.machine.session.quietUntil == .seconds(3690))
  }

  /// Five rejected signatures within an hour are a ban, and a program that is killed on a full disk forgets each of them.
  @Test("Requests are unsigned while the session cannot be written", arguments: [true, false])
  func nothingIsSignedThatCannotBeRemembered(isWritten: Bool) {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":null}"#)
    _ = bench.on(isWritten ? .saved : .notSaved)
    var actions: [CoordinatorMachine.Action] = []
    while actions.calls.isEmpty { actions = bench.wait() }
    #expect(actions.contains { if case .send(_, isSigned: isWritten) = $0 { true } else { false } })
  }

  /// A program that crashes every five seconds signs nothing; one that stays does, after a minute and a bit.
  @Test("Requests are unsigned for a while after a restart") func whoIsStartedAnewDoesNotKnowWhatWasSigned() {
    var first = CoordinatorBench()
    first.connect()
    var signed = 0
    var session = first.machine.session
    func signatures(_ effects: [CoordinatorMachine.Action]) -> Int {
      effects.count { if case .send(_, isSigned: true) = $0 { true } else { false } }
    }
    for life in 1...12 {
      var bench = CoordinatorBench(session)
      signed += signatures(bench.on(.start, after: .seconds(5 * life)))
      signed += signatures(bench.on(.model(CoordinatorModel(isReady: true))))
      signed += signatures(bench.hear(.heartbeat, 200, #"{"ok":true}"#))
      session = bench.machine.session
    }
    #expect(signed == 0)
    var last = CoordinatorBench(session)
    signed += signatures(last.on(.start, after: .seconds(65)))
    var begun: Duration?
    while begun == nil, last.now < .seconds(600) {
      if signatures(last.hear(.heartbeat, 200, #"{"ok":true}"#) + last.wait()) > 0 { begun = last.now }
    }
    let expected = Duration.seconds(140) ... .seconds(160)
    #expect(begun.map(expected.contains) == true, "\(String(describing: begun))")
  }

  @Test(
    "After a signature that was rejected or may have been, requests are unsigned for a while, and then signed again",
    arguments: [
      (.answer(CoordinatorAnswer(status: 401, body: Data(#"{"error":"signature_invalid"}"#.utf8))), 3600),
      (.answer(CoordinatorAnswer(status: 500, body: Data())), 1820),
      (.none(CoordinatorTransportError("the line broke", mayHaveArrived: true)), 1820),
      (.none(CoordinatorTransportError("nobody was there", mayHaveArrived: false)), 0),
    ] as [(CoordinatorMachine.Outcome, Int)])
  func aRejectedSignatureEndsSigningForAnHour(outcome: CoordinatorMachine.Outcome, seconds: Int) throws {
    var bench = CoordinatorBench()
    bench.connect()
    var actions = bench.on(.saved) + bench.hear(.pull, 200, #"{"subtask":null}"#)
    /// Answers what is sent until a request is signed, and ends that one with another outcome.
    func nextSigned(_ outcome: CoordinatorMachine.Outcome) throws -> Duration {
      while true {
        try #require(bench.now < .seconds(9000))
        switch actions.isEmpty ? nil : actions.removeFirst() {
        case nil: actions = bench.wait()
        case .save: actions += bench.on(.saved)
        case .send(let call, isSigned: true):
          defer { actions += bench.on(.ended(call, outcome), after: .milliseconds(10)) }
          return bench.now
        case .send(let call, _):
          actions += bench.hear(call, 200, call == .pull ? #"{"subtask":null}"# : #"{"ok":true}"#)
        default: break
        }
      }
    }
    let rejected = try nextSigned(outcome)
    let signed = try nextSigned(.answer(CoordinatorAnswer(status: 200, body: Data(#"{"ok":true}"#.utf8))))
    let pause = Duration.seconds(seconds) ... .seconds(seconds + 40)
    #expect(pause.contains(signed - rejected), "\(signed - rejected)")
  }

  @Test("There are never nine registrations within an hour") func neverNineRegistrationsAnHour() {
    var bench = CoordinatorBench()
    var sent: [Duration] = []
    var calls = bench.on(.start).calls
    while bench.now < .seconds(6 * 3600) {
      if calls == [.register] {
        sent.append(bench.now)
        calls = bench.hear(.register, 200, #"{"accepted":true}"#).calls
      } else if calls == [.heartbeat] {
        calls = bench.hear(.heartbeat, 401, #"{"error":"mesh_unauthorized"}"#).calls
      } else {
        calls = bench.wait().calls
      }
    }
    #expect(sent.count > 12)
    for start in sent { #expect(sent.filter { (start..<start + .seconds(3600)).contains($0) }.count <= 8) }
  }

  @Test("Work is held with a reason") func workIsHeldWithAReason() {
    func held(
      _ change: (inout CoordinatorBench) -> Void, _ policy: AssignmentPolicy = .flowChart(FlowChart())
    ) -> String? {
      var bench = CoordinatorBench(policy: policy)
      bench.connect()
      _ = bench.hear(.pull, 200, #"{"subtask":null}"#)
      change(&bench)
      #expect(bench.wait().calls == [])
      return bench.machine.work.counters.held
    }
    func power(_ level: Int?, external: Bool = false, save: Bool = false) -> PowerTelemetry {
      PowerTelemetry(onExternalPower: external, batteryLevelPct: level, lowPowerMode: save, updatedAtMs: 1)
    }
    #expect(held { _ = $0.on(.model(CoordinatorModel(isReady: false))) } == "model_not_ready")
    #expect(held { $0.machine.power = power(nil, save: true) } == "low_power_mode")
    #expect(held { $0.machine.power = power(19) } == "battery_below_threshold")
    #expect(held({ $0.machine.power = power(14) }, .coordinatorMachine) == "laptop_battery_critical")
  }

  @Test("Work is held after a gap in the heartbeats") func workIsHeldAfterAGapInTheHeartbeats() {
    var session = CoordinatorSession()
    session.quietUntil = .seconds(100)
    var bench = CoordinatorBench(session)
    bench.connect()
    #expect(bench.machine.work.counters.held == "heartbeat_gap")
  }

  @Test("Work is held while a result is not on disk") func workIsHeldWhileAResultIsNotOnDisk() {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":"x"}}"#)
    _ = bench.on(.worked("s", .answered("a fine answer")), after: .seconds(2))
    _ = bench.on(.notKept(1))
    _ = bench.hear(.result(1), 500, "")
    // The result is written once more before it is sent once more.
    #expect(bench.on(.tick, after: .milliseconds(750)).kept?.subtaskId == "s")
    _ = bench.on(.notKept(1))
    _ = bench.on(.tick, after: .milliseconds(500))
    #expect(bench.machine.work.counters.held == "result_not_on_disk")
  }

  @Test(
    "A response without a task sets the reason and the delay",
    arguments: [
      (#"{"subtask":null,"powerDeferred":true,"reason":"high_cpu_defer","deferMs":5000}"#, "high_cpu_defer", 5.0),
      (#"{"subtask":null,"powerDeferred":true,"reason":"ios_low_power_mode"}"#, "ios_low_power_mode", 15.0),
      (#"{"subtask":null,"powerDeferred":true,"deferMs":-9e99}"#, "power_deferred", 1.2),
      (#"{"subtask":null,"sandboxRequired":true}"#, "sandbox_required", 30.0),
      (#"{"subtask":null,"envelope":{"subtaskId":"s"}}"#, "encrypted_task", 30.0),
      (#"{"subtask":null}"#, "", 1.2),
    ])
  func noWorkIsGiven(body: String, reason: String, seconds: Double) {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, body)
    let heard = bench.now
    var calls: [CoordinatorMachine.Call] = []
    while calls != [.pull] {
      calls = bench.wait().calls
      if calls == [.heartbeat] { _ = bench.hear(.heartbeat, 200, #"{"ok":true}"#, after: .zero) }
    }
    #expect(abs((bench.now - heard).inSeconds - seconds) < 0.001)
    #expect(bench.machine.work.counters.drops.counts == (reason.isEmpty ? [:] : [reason: 1]))
  }

  @Test("A task that this machine cannot do is returned with a failure") func whatCannotBeDoneIsGivenBack() {
    var bench = CoordinatorBench(policy: .coordinatorMachine)
    bench.machine.power = PowerTelemetry(
      onExternalPower: false, batteryLevelPct: 30, lowPowerMode: false, updatedAtMs: 1)
    bench.connect()
    // Small tasks only, at 30 %.
    let result = bench.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":"x","timeoutMs":10001}}"#).kept
    #expect(result?.ok == false)
    #expect(result?.error == "laptop_battery_low")
    #expect(result?.durationMs == 0)
    var other = CoordinatorBench()
    other.connect()
    let unusable = other.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":17}}"#)
    #expect(unusable.kept?.error == "task_without_input")
  }

  @Test("A stop ends the task with a result") func stoppingEndsTheTaskWithAResult() {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":"x"}}"#)
    #expect(bench.on(.stop, after: .seconds(3)).contains(.cancelWork))
    #expect(!bench.machine.isSettled)
    let effects = bench.on(.worked("s", .cancelled("this machine has stopped working")), after: .milliseconds(20))
    #expect(effects.kept?.ok == false)
    #expect(effects.kept?.durationMs == 3020)
    #expect(effects.kept?.output == "Task s has been cancelled: this machine has stopped working")
    #expect(bench.machine.work.counters.cancelled == 1)
    #expect(bench.machine.work.counters.failed == 0)
    #expect(effects.calls == [.result(1)])
    _ = bench.hear(.result(1), 200, "{}")
    #expect(bench.machine.isSettled)
    #expect(bench.machine.wakeAt == nil)
    // A model that does not stop is not waited for.
    _ = bench.on(.start)
    _ = bench.hear(.heartbeat, 200, #"{"ok":true}"#)
    _ = bench.hear(.pull, 200, #"{"subtask":{"id":"s2","taskId":"T","input":"x"}}"#)
    _ = bench.on(.stop)
    #expect(bench.on(.leave, after: .seconds(1)).kept?.subtaskId == "s2")
    #expect(!bench.machine.work.hasJob)
    #expect(bench.on(.worked("s", .answered("late"))).kept == nil)
  }

  /// The coordinator says no to one result: the next one is not kept waiting.
  @Test("A result that the coordinator rejects is discarded") func aResultNobodyWantsIsGivenUp() {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":"x"}}"#)
    _ = bench.on(.worked("s", .answered("a fine answer")), after: .seconds(2))
    let effects = bench.hear(.result(1), 400, #"{"error":"envelope_decrypt_failed"}"#)
    #expect(effects.contains(.discard(1)))
    #expect(bench.machine.outbox.rejected == 1)
    #expect(effects.contains { if case .log = $0 { true } else { false } })
  }

  @Test("A result that the coordinator could not take 200 times is discarded, and not before") func aResultIsGivenUp() {
    var bench = CoordinatorBench()
    bench.connect()
    _ = bench.hear(.pull, 200, #"{"subtask":{"id":"s","taskId":"T","input":"x"}}"#)
    var calls = bench.on(.worked("s", .answered("a fine answer")), after: .seconds(2)).calls
    var failures = 0
    var wasDiscarded = false
    for _ in 0..<100_000 where !wasDiscarded {
      guard calls.contains(.result(1)) else {
        calls = bench.wait().calls
        if calls.contains(.heartbeat) { calls += bench.hear(.heartbeat, 200, #"{"ok":true}"#).calls }
        continue
      }
      failures += 1
      let effects = bench.hear(.result(1), 503, "")
      wasDiscarded = effects.contains(.discard(1))
      calls = effects.calls
    }
    #expect(failures == 200)
    #expect(wasDiscarded)
    #expect(bench.machine.outbox.items.isEmpty)
  }
}
