import DBusTesting
import Foundation
import SystemState

@testable import Agent

/// Hours of an agent at a coordinator, in which everything goes wrong that can: answers that are late, lost, or none;
/// programs killed, coordinators restarted, clocks that differ, engines that fail, hurry, or repeat themselves.
struct CoordinatorSimulation {
  private enum Happening {
    case tick
    case answer(CoordinatorMachine.Call, CoordinatorMachine.Outcome)
    case worked(String, CoordinatorMachine.Work)
    case weather
  }

  private var random: SeededGenerator
  private var coordinator: SimulatedCoordinator
  private var machine: CoordinatorMachine
  /// What is on disk.
  private var session = CoordinatorSession()
  private var disk: [ResultOutbox.Entry] = []
  private var queue: [(at: Duration, life: Int, happening: Happening)] = []
  /// Which start of the program it is: what was under way in another one is gone.
  private var life = 0
  private var now: Duration = .zero
  private var isWorking = false
  private var lastHeartbeat: (sent: Duration, wasTaken: Bool)?
  private var kept: Set<String> = []
  // The weather.
  private var loss = 0.0
  private var engine = Engine.good
  private var isDiskFull = false

  private enum Engine: CaseIterable { case good, fails, hurries, repeats, empty, constant }

  /// What was not as it should be.
  private(set) var faults: [String] = []
  private(set) var calls: [String: Int] = [:]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    coordinator = SimulatedCoordinator(hasToken: Bool.random(using: &random))
    machine = CoordinatorMachine(session, agentID: "a")
  }

  /// Plays some hours, then good weather until everything has come to an end.
  mutating func play(hours: Int) {
    restart()
    queue.append((.seconds(60), 0, .weather))
    let end = Duration.seconds(3600 * hours)
    while now < end { step() }
    (loss, engine, isDiskFull, coordinator.isSkewed) = (0, .good, false, false)
    queue.removeAll { if case .weather = $0.happening { true } else { false } }
    if !machine.isActive { handle(.start) }
    // A gap in the heartbeats holds results for an hour, and what looks bad together for another.
    while now < end + .seconds(3 * 3600), !kept.isSubset(of: coordinator.results.keys) { step() }
    finish()
  }

  private mutating func step() {
    if let wake = machine.wakeAt, !queue.contains(where: { $0.at <= wake }) {
      now = max(now, wake)
      handle(.tick)
      return
    }
    guard let index = queue.indices.min(by: { queue[$0].at < queue[$1].at }) else { return handle(.tick) }
    let (at, itsLife, happening) = queue.remove(at: index)
    now = max(now, at)
    if case .weather = happening { return changeWeather() }
    guard itsLife == life else { return }
    switch happening {
    case .answer(let call, let outcome): handle(.ended(call, outcome))
    case .worked(let id, let work):
      isWorking = false
      handle(.worked(id, work))
    case .tick, .weather: break
    }
  }

  private mutating func handle(_ event: CoordinatorMachine.Event) {
    let before = machine.wakeAt
    let effects = machine.handle(event, at: now, random: .random(in: 0...1, using: &random))
    for effect in effects { perform(effect) }
    if case .tick = event, effects.isEmpty, machine.wakeAt == before, let before, before <= now {
      faults.append("\(now): it turns in circles")
    }
  }

  private mutating func perform(_ effect: CoordinatorMachine.Effect) {
    switch effect {
    case .save: session = machine.session
    case .send(let call, let isSigned): send(call, isSigned)
    case .work(let task):
      if isWorking { faults.append("\(now): two tasks at once") }
      isWorking = true
      let (after, work) = result()
      queue.append((now + after, life, .worked(task.id, work)))
    case .cancelWork:
      queue.removeAll { if case .worked = $0.happening { true } else { false } }
      let id = machine.job?.task.id ?? ""
      queue.append((now + .milliseconds(50), life, .worked(id, .failed("cancelled"))))
    case .keep(let entry):
      if isDiskFull {
        handle(.notKept(entry.number))
      } else {
        if !disk.contains(where: { $0.number == entry.number }) { disk.append(entry) }
        kept.insert(entry.result.subtaskId)
      }
    case .discard(let number): disk.removeAll { $0.number == number }
    case .connected, .refused, .log: break
    }
  }

  private mutating func send(_ call: CoordinatorMachine.Call, _ isSigned: Bool) {
    calls[call.path, default: 0] += 1
    if call == .heartbeat {
      // Due 15 s after the last one that was taken, and never a moment later, whatever is worked on.
      if let last = lastHeartbeat, last.wasTaken, now - last.sent > .seconds(31) {
        faults.append("\(now): a heartbeat \(now - last.sent) after the last")
      }
      lastHeartbeat = (now, false)
    }
    if case .result(let number) = call, !isDiskFull, !disk.contains(where: { $0.number == number }) {
      faults.append("\(now): a result is sent that is not on disk")
    }
    var delay = Duration.milliseconds(Int.random(in: 1...300, using: &random))
    let fate = Double.random(in: 0...1, using: &random)
    let arrives = fate >= loss * 0.5
    var outcome = CoordinatorMachine.Outcome.none(.init("nothing answers", mayHaveArrived: false))
    if arrives {
      let result = machine.posting.flatMap { call == .result($0.number) ? $0.result : nil }
      let answer = coordinator.answer(
        call, isSigned: isSigned, token: machine.session.meshToken, result: result, at: now.inSeconds)
      outcome = .answer(answer)
      if fate < loss * 0.8 {
        outcome = .none(.init("no answer", mayHaveArrived: true))
        delay = .seconds(15)
      } else if fate < loss {
        outcome = .answer(CoordinatorAnswer(status: 502, body: Data("<html>".utf8)))
      } else if call == .heartbeat, answer.status == 200 {
        lastHeartbeat?.wasTaken = true
      }
    }
    queue.append((now + delay, life, .answer(call, outcome)))
  }

  private mutating func result() -> (Duration, CoordinatorMachine.Work) {
    let text = "an answer of some length \(UInt64.random(in: 0...(.max), using: &random))"
    return switch engine {
    case .good: (.milliseconds(Int.random(in: 1000...20_000, using: &random)), .answered(text))
    case .fails: (.milliseconds(3), .failed("broken"))
    case .hurries: (.milliseconds(2), .answered(text))
    case .repeats: (.seconds(2), .answered("42"))
    case .empty: (.seconds(1), .answered(" \n"))
    case .constant: (.seconds(5), .answered(text))
    }
  }

  private mutating func changeWeather() {
    queue.append((now + .seconds(Int.random(in: 10...900, using: &random)), life, .weather))
    switch Int.random(in: 0..<12, using: &random) {
    case 0: kill()
    case 1: coordinator.restart()
    case 2: loss = 1
    case 3: loss = Double.random(in: 0...0.6, using: &random)
    case 4, 5: loss = 0
    case 6: engine = Engine.allCases.randomElement(using: &random) ?? .good
    case 7: coordinator.isSkewed.toggle()
    case 8: isDiskFull.toggle()
    case 9: handle(machine.isActive ? .stop : .start)
    case 10: handle(.model(CoordinatorModel(isReady: Bool.random(using: &random))))
    default:
      machine.power = PowerTelemetry(
        onExternalPower: Bool.random(using: &random), batteryLevelPct: Int.random(in: 0...100, using: &random),
        lowPowerMode: Int.random(in: 0..<4, using: &random) == 0, updatedAtMs: 1)
    }
    if !machine.isActive { lastHeartbeat = nil }
  }

  /// What is not on disk is gone.
  private mutating func kill() {
    kept.formIntersection(Set(coordinator.results.keys).union(disk.map(\.result.subtaskId)))
    restart()
  }

  private mutating func restart() {
    life += 1
    (isWorking, lastHeartbeat) = (false, nil)
    machine = CoordinatorMachine(
      session, agentID: "a", results: disk.sorted { $0.number < $1.number },
      firstResult: (disk.map(\.number).max() ?? 0) + 1)
    handle(.start)
    handle(.model(CoordinatorModel(isReady: true)))
  }

  private mutating func finish() {
    let lost = kept.subtracting(coordinator.results.keys)
    if !lost.isEmpty { faults.append("lost: \(lost.sorted())") }
    faults += coordinator.strikes
    let registrations = coordinator.allRegistrations
    for instant in registrations {
      let count = registrations.filter { $0 <= instant && instant - $0 < 3600 }.count
      if count > 9 { faults.append("\(instant): \(count) registrations within an hour") }
    }
  }
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
