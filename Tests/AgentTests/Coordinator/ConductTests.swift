import Foundation
import Testing
import Timing

@testable import Agent

/// A machine at a coordinator that always has a task.
private struct BusySwarm {
  /// A result as it was sent.
  struct Sent: Equatable {
    var at: Duration
    var result: ResultRequest
  }

  private var bench = CoordinatorBench()
  private var work: (id: String, start: Duration, end: Duration, answer: String)?
  private var tasks = 0
  /// How long the engine takes for a task with this number, and what it answers.
  var engine: (Int) -> (Duration, String)
  /// What becomes of the result that is sent next, after so many before it.
  var fate: (Int) -> CoordinatorMachine.Outcome = { _ in Self.taken }
  var hasWork = true
  private(set) var sent: [Sent] = []
  private(set) var logged: [String] = []
  /// The actual duration of each task, by its identifier.
  private(set) var durations: [String: Duration] = [:]

  static let taken = CoordinatorMachine.Outcome.answer(CoordinatorAnswer(status: 200, body: Data("{}".utf8)))
  static let unsure = CoordinatorMachine.Outcome.none(CoordinatorTransportError("no answer", mayHaveArrived: true))
  static let busy = CoordinatorMachine.Outcome.answer(CoordinatorAnswer(status: 503, body: Data()))

  init(engine: @escaping (Int) -> (Duration, String)) {
    self.engine = engine
    bench.connect()
    // The request that follows the first heartbeat.
    perform(bench.hear(.pull, 200, #"{"subtask":null}"#))
  }

  var held: String? { bench.machine.work.counters.held }
  var waiting: Int { bench.machine.outbox.items.count }

  mutating func run(for duration: Duration) {
    let end = bench.now + duration
    while let next = [bench.machine.wakeAt, work?.end].compactMap(\.self).min(), next <= end {
      bench.now = max(bench.now, next)
      if let work, work.end <= bench.now {
        self.work = nil
        durations[work.id] = bench.now - work.start
        perform(bench.on(.worked(work.id, .answered(work.answer))))
      } else {
        perform(bench.on(.tick))
      }
    }
    bench.now = end
  }

  private mutating func perform(_ actions: [CoordinatorMachine.Action]) {
    for action in actions {
      switch action {
      case .send(.heartbeat, _): perform(bench.hear(.heartbeat, 200, #"{"ok":true}"#))
      case .send(.pull, _):
        if hasWork { tasks += 1 }
        let task = hasWork ? #"{"id":"s\#(tasks)","taskId":"T","input":"x"}"# : "null"
        perform(bench.hear(.pull, 200, #"{"subtask":\#(task)}"#))
      case .send(.result(let number), _):
        guard let result = bench.machine.outbox.sending?.result else { return }
        sent.append(Sent(at: bench.now, result: result))
        perform(bench.on(.ended(.result(number), fate(sent.count - 1)), after: .milliseconds(10)))
      case .work(let task):
        let (duration, answer) = engine(tasks)
        work = (task.id, bench.now, bench.now + duration, answer)
      case .log(let text): logged.append(text)
      default: break
      }
    }
  }
}

@Suite("The agent's conduct by the coordinator's rules") struct ConductTests {
  @Test("Results have the true duration and the engine's answer, also of an engine that answers at once")
  func figuresAreTrue() {
    var swarm = BusySwarm { number in (.milliseconds(7 * number), "42") }
    swarm.run(for: .seconds(4 * 3600))
    #expect(swarm.sent.count >= 4)
    for sent in swarm.sent {
      #expect(sent.result.ok)
      #expect(sent.result.output == "42")
      #expect(sent.result.error == nil)
      #expect(.milliseconds(sent.result.durationMs) == swarm.durations[sent.result.subtaskId])
    }
  }

  /// Three results of less than half a second are a ban, if the mean is less than a second.
  @Test("An engine that answers at once does two tasks an hour, with the reason") func fastEnginesRest() {
    var swarm = BusySwarm { number in (.zero, "the answer \(number) of an engine") }
    swarm.run(for: .seconds(3500))
    #expect(swarm.sent.count == 2)
    #expect(swarm.held == "answers_too_fast")
    swarm.run(for: .seconds(2 * 3600))
    #expect(swarm.sent.count > 2)
    for (first, third) in zip(swarm.sent, swarm.sent.dropFirst(2)) { #expect(third.at - first.at > .seconds(3600)) }
  }

  @Test("A good engine is never held", arguments: [0.6, 2, 30]) func goodEnginesWork(seconds: Double) {
    var swarm = BusySwarm { number in (.seconds(seconds * (1 + Double(number % 7) / 10)), "a good answer \(number)") }
    swarm.run(for: .seconds(3600))
    #expect(Double(swarm.sent.count) > 3600 / (seconds * 1.6 + 1.2) * 0.9)
    #expect(swarm.held == nil)
    #expect(swarm.logged.isEmpty)
  }

  @Test("A third equal answer waits, unchanged, and no further task is accepted") func equalAnswersWait() {
    var swarm = BusySwarm { _ in (.seconds(3), "the same words each time") }
    swarm.run(for: .seconds(3500))
    #expect(swarm.sent.count == 2)
    #expect(swarm.waiting == 1)
    #expect(swarm.held == "answers_repeat")
    #expect(swarm.logged.contains { $0.contains("the last answers are the same") })
    swarm.hasWork = false
    swarm.run(for: .seconds(3600))
    #expect(swarm.waiting == 0)
    #expect(Set(swarm.sent.map(\.result.output)) == ["the same words each time"])
    for (first, third) in zip(swarm.sent, swarm.sent.dropFirst(2)) { #expect(third.at - first.at > .seconds(3600)) }
  }

  /// The coordinator compares every result that arrives with those before it, also the same one that arrives again.
  @Test("Attempts are the same, byte for byte, and the third one waits for another result or an hour")
  func attemptsAreTheSame() {
    var swarm = BusySwarm { number in (.seconds(2 + number), "a good answer \(number)") }
    swarm.fate = { $0 < 2 ? BusySwarm.unsure : BusySwarm.taken }
    swarm.run(for: .seconds(60))
    let firsts = swarm.sent.prefix(4).map(\.result)
    #expect(firsts.map(\.subtaskId) == ["s1", "s1", "s2", "s1"])
    #expect(firsts[0] == firsts[1])
    #expect(firsts[0] == firsts[3])

    var lonely = BusySwarm { number in (.seconds(2 + number), "a good answer \(number)") }
    lonely.fate = { $0 < 2 ? BusySwarm.unsure : BusySwarm.taken }
    lonely.run(for: .seconds(4))
    lonely.hasWork = false
    lonely.run(for: .seconds(2 * 3600))
    #expect(lonely.sent.prefix(3).allSatisfy { $0.result == lonely.sent[0].result })
    #expect(lonely.sent[2].at - lonely.sent[0].at > .seconds(3600))
    #expect(lonely.waiting == 0)
  }

  @Test("An attempt that the coordinator was too busy for does not count") func busyCoordinatorsDoNotCount() {
    var swarm = BusySwarm { number in (.seconds(2 + number), "a good answer \(number)") }
    swarm.fate = { $0 < 5 ? BusySwarm.busy : BusySwarm.taken }
    swarm.run(for: .seconds(120))
    #expect(swarm.sent.prefix(6).allSatisfy { $0.result == swarm.sent[0].result })
    #expect(swarm.sent.count > 6)
  }

  @Test("The idempotency key of a result is the FNV-1a hash of its body") func keysAreHashes() {
    let vectors = [
      "": "6c62272e07bb014262b821756295c58d", "a": "d228cb696f1a8caf78912b704e4a8964",
      "foobar": "343e1662793c64bf6f0d3597ba446f18",
    ]
    for (text, hash) in vectors { #expect(CoordinatorClient.fingerprint(of: Data(text.utf8)) == hash) }
  }

  @Test("Every reason of the agent to hold work is in words") func reasonsAreInWords() {
    for reason in HoldReason.allCases {
      var status = CoordinatorStatus(address: "c", agentID: "a")
      status.heldBecause = reason.rawValue
      #expect(status.heldDescription?.contains(" ") == true)
      #expect(status.heldDescription?.contains("_") == false)
    }
  }
}
