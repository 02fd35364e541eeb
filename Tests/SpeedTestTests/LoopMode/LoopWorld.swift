import DeterministicTesting
import Foundation
import Places
import Testing

@testable import SpeedTest

/// A world in which a loop runs: true time, two clocks, a moving machine, a user who comes and goes, a disk, and a program
/// that is killed anywhere. An oracle beside it knows the truth and no code of the machine.
struct LoopWorld {
  var random: SeededGenerator
  let plan: LoopPlan
  let seed: UInt64

  /// The clocks of the machine, and the truth that they show.
  struct Clocks {
    var trueMs: Int64 = 0
    var wallOffset: Int64 = 1_800_000_000_000
    var boot = 1
    var bootedAt: Int64 = -1_000_000
    let utcOffset = 7200
  }

  // The truth.
  var clocks = Clocks()
  var trueMs: Int64 {
    get { clocks.trueMs }
    set { clocks.trueMs = newValue }
  }
  /// The position in metres to the north of a place.
  var position = 0.0
  var presence = LoopPresence.present

  // The disk.
  var disk: Data
  var results: [LoopOracle.Key: LoopOutcome] = [:]

  // The program; `nil` while none runs.
  var machine: LoopMachine?
  var deadline: Int64?
  var running: (test: LoopTest, end: Int64)?
  var isHeld = false
  var ending: LoopEnding?
  var oracle: LoopOracle

  init(seed: UInt64) throws {
    self.seed = seed
    var random = SeededGenerator(seed: seed)
    let hasNight = Bool.random(using: &random)
    plan = try LoopPlan(
      tests: .random(in: 1...10, using: &random), delay: .seconds(.random(in: 300...3600, using: &random)),
      movement: Bool.random(using: &random) ? .random(in: 25...2000, using: &random) : nil,
      isUnattended: Int.random(in: 0..<4, using: &random) == 0,
      nightHours: hasNight ? try LoopNightHours(from: 22 * 60, to: 6 * 60) : nil)
    let now = LoopInstant(wallMs: clocks.wallOffset, boot: "1", bootMs: 1_000_000, utcOffset: clocks.utcOffset)
    disk = try LoopStore<String>.encode(.init(state: LoopState(id: UUID(), plan: plan, at: now), settings: ""))
    oracle = LoopOracle(plan: plan, seed: seed)
    self.random = random
  }

  var now: LoopInstant {
    LoopInstant(
      wallMs: trueMs + clocks.wallOffset, boot: "\(clocks.boot)", bootMs: trueMs - clocks.bootedAt,
      utcOffset: clocks.utcOffset)
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  // MARK: The program

  mutating func start() throws {
    let state = try #require(LoopStore<String>.decode(disk)).state
    oracle.restarted()
    ending = state.ending
    guard ending == nil else { return }
    machine = LoopMachine(state)
    let stored = state.running.flatMap { results[.init($0)] }
    deliver(.launch(stored: stored))
    deliver(.presence(presence))
  }

  mutating func die() {
    machine = nil
    deadline = nil
    running = nil
    isHeld = false
  }

  /// Delivers an event, if a program runs, which a kill may end between any two of its actions.
  mutating func deliver(_ event: LoopMachine.Event) {
    guard machine != nil, ending == nil else { return }
    let before = machine!.state
    let actions = machine!.handle(event, at: now)
    oracle.handled(before, machine!.state, at: trueMs)
    let kill = chance(2) ? Int.random(in: 0...actions.count, using: &random) : nil
    for (index, action) in actions.enumerated() {
      if index == kill { return die() }
      perform(action)
    }
    guard let state = machine?.state else { return }
    deadline = machine?.wait(at: now).map { trueMs + $0 }
    if case .waiting = state.phase { #expect(isHeld, "seed \(seed)") } else { #expect(!isHeld, "seed \(seed)") }
    // Just after the launch nobody has said yet who is there.
    if case .launch = event { return }
    oracle.checkNothingIsLate(state, isPresent: isAllowed, at: trueMs, deadline: deadline)
  }

  private var isAllowed: Bool { presence == .present || plan.isUnattended && presence != .suspending }

  private mutating func perform(_ action: LoopMachine.Action) {
    switch action {
    case .save:
      do {
        disk = try LoopStore<String>.encode(.init(state: machine!.state, settings: ""))
      } catch {
        Issue.record(error)
      }
      oracle.saved()
    case .begin(let test):
      #expect(running == nil, "two tests at once, seed \(seed)")
      #expect(isAllowed, "nobody is there, seed \(seed)")
      oracle.begun(test, at: trueMs)
      running = (test, trueMs + .random(in: 5000...60_000, using: &random))
    case .abort:
      let end = trueMs + .random(in: 0...2000, using: &random)
      running?.end = end
    case .hold:
      #expect(!isHeld)
      isHeld = true
    case .release:
      #expect(isHeld)
      isHeld = false
    case .notify: oracle.notified(at: trueMs, minute: minute)
    case .finish(let reason): ending = reason
    }
  }

  /// The local minute of the day, by arithmetic of its own.
  private var minute: Int { Int(((trueMs + clocks.wallOffset) / 1000 + Int64(clocks.utcOffset)) / 60 % 1440) }

  /// Ends the running test: its result is stored first, and then the loop is told.
  mutating func endTest(fails: Bool) {
    guard let running else { return }
    if chance(2) { return die() }
    self.running = nil
    let isAborted = if case .aborting = machine?.state.phase { true } else { false }
    var outcome = LoopOutcome(fails || isAborted ? .failed : .completed, reason: fails ? "no answer" : nil)
    outcome.download = outcome.status == .completed ? Double(trueMs) : nil
    results[.init(running.test)] = outcome
    if chance(4) { return die() }
    deliver(.tested(outcome))
  }

  // MARK: Time

  /// Moves on to an instant, or to what the program waits for before it.
  mutating func pass(_ ms: Int64, fails: Bool) {
    let target = trueMs + ms
    while let next = [deadline, running?.end].compactMap(\.self).min(), next <= target {
      trueMs = max(trueMs, next)
      if let end = running?.end, end <= trueMs { endTest(fails: fails && chance(30)) } else { deliver(.timePassed) }
      if machine == nil || ending != nil { break }
      // A deadline that has come and changes nothing would come again at once.
      if let deadline, deadline <= trueMs {
        Issue.record("the loop spins, seed \(seed)")
        break
      }
    }
    trueMs = max(trueMs, target)
  }

  /// Lets the machine sleep: no event reaches the program before it wakes.
  mutating func suspend(_ ms: Int64) {
    let before = presence
    presence = .suspending
    deliver(.presence(presence))
    // Tests are aborted within the time that logind grants, or cut off by the sleep.
    if running != nil { endTest(fails: true) }
    trueMs += ms
    presence = before == .suspending ? .present : before
    deliver(.presence(presence))
    deliver(.timePassed)
  }

  mutating func reboot(offFor ms: Int64) {
    die()
    trueMs += ms
    clocks.boot += 1
    clocks.bootedAt = trueMs - .random(in: 5000...60_000, using: &random)
    oracle.rebooted()
  }

  mutating func jump(_ ms: Int64) {
    clocks.wallOffset += ms
    oracle.jumped(ms)
    deliver(.timePassed)
  }

  mutating func locate(isGood: Bool) {
    guard let place = Place(latitude: 48 + position / 111_195.08, longitude: 16) else { return }
    let fix =
      isGood
      ? LoopFix(place: place, error: 5)
      : LoopFix(place: place, error: [nil, 500, -1].randomElement(using: &random)!, age: .seconds(40))
    if isGood, machine != nil, ending == nil { oracle.located(position, at: trueMs) }
    deliver(.location(fix))
  }
}
