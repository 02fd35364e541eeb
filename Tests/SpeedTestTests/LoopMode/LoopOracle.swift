import Testing

@testable import SpeedTest

/// The truth about a loop: which tests have begun, and when the next one may begin.
struct LoopOracle {
  struct Key: Hashable, Comparable {
    var number: Int
    var attempt: Int

    init(_ test: LoopTest) {
      number = test.number
      attempt = test.attempt
    }

    static func < (a: Key, b: Key) -> Bool { (a.number, a.attempt) < (b.number, b.attempt) }
  }

  /// The reference of the next test, in true time and place.
  struct Reference {
    var start: Int64?
    var failed: Int64?
    var position: Double?
    /// The greatest distance of a location that counts from the reference.
    var farthest = 0.0
    /// The milliseconds by which the wall clock may have misled a program after a reboot, in either direction.
    var early: Int64 = 0
    var late: Int64 = 0
    var jumps: Int64 = 0
    var isOtherBoot = false
  }

  let plan: LoopPlan
  let seed: UInt64
  /// The tests that have begun, on the wire.
  var begun: [Key] = []
  private var memory = Reference()
  private var disk = Reference()
  private var fix: (position: Double, at: Int64)?
  private var lastNotice: Int64?
  var notices = 0

  init(plan: LoopPlan, seed: UInt64) {
    self.plan = plan
    self.seed = seed
  }

  // MARK: The world

  mutating func restarted() {
    memory = disk
    fix = nil
    if memory.isOtherBoot {
      // The wall clock is all that a program has then, with all that it has jumped since the start.
      memory.early = max(memory.early, memory.jumps)
      memory.late = max(memory.late, -memory.jumps)
      memory.isOtherBoot = false
    }
  }

  mutating func rebooted() {
    disk.isOtherBoot = true
    lastNotice = nil
  }

  mutating func jumped(_ ms: Int64) {
    memory.jumps += ms
    disk.jumps += ms
  }

  mutating func located(_ position: Double, at now: Int64) {
    fix = (position, now)
    if memory.start != nil, memory.position == nil { memory.position = position }
    if let reference = memory.position { memory.farthest = max(memory.farthest, abs(position - reference)) }
  }

  mutating func saved() { disk = memory }

  mutating func handled(_ before: LoopState, _ after: LoopState, at now: Int64) {
    if let old = before.history.last?.outcome, old.status == .failed || old.status == .interrupted {
      // Known already.
    } else if let new = after.history.last(where: { $0.outcome != nil })?.outcome,
      new.status == .failed || new.status == .interrupted
    {
      memory.failed = now
    }
    guard after.history.count > before.history.count else { return }
    let here = fix.flatMap { now - $0.at <= 30_000 ? $0.position : nil }
    checkNotEarly(after.history[after.history.count - 1], at: now, here: here)
    memory = Reference(start: now, position: here)
  }

  // MARK: The rules

  private func checkNotEarly(_ test: LoopTest, at now: Int64, here: Double?) {
    switch test.trigger {
    case .first: #expect(memory.start == nil, "seed \(seed)")
    case .time:
      let elapsed = now - (memory.start ?? .max)
      #expect(elapsed + memory.early >= plan.delayMs, "early by time, seed \(seed), test \(test)")
    case .retry:
      #expect(now - (memory.failed ?? .max) + memory.early >= 60_000, "early repetition, seed \(seed)")
    case .distance:
      // The user may have moved on, or back, before a test begins that waited for somebody.
      guard let reference = memory.position else {
        Issue.record("a distance without a reference, seed \(seed)")
        return
      }
      if let here, test.moved != nil { #expect(abs((test.moved ?? 0) - abs(here - reference)) < 1, "seed \(seed)") }
      #expect(memory.farthest >= (plan.movement ?? .infinity) - 0.5, "early by distance, seed \(seed)")
    }
  }

  mutating func begun(_ test: LoopTest, at now: Int64) {
    let key = Key(test)
    #expect(!begun.contains(key), "a doubled test, seed \(seed)")
    #expect(begun.last.map { $0 < key } ?? true, "seed \(seed)")
    #expect(key.number <= plan.tests)
    begun.append(key)
  }

  mutating func notified(at now: Int64, minute: Int) {
    if plan.nightHours != nil { #expect((6 * 60..<22 * 60).contains(minute), "at night, seed \(seed)") }
    if let lastNotice { #expect(now - lastNotice >= plan.delayMs, "within the wait, seed \(seed)") }
    lastNotice = now
    notices += 1
  }

  func checkNothingIsLate(_ state: LoopState, isPresent: Bool, at now: Int64, deadline: Int64?) {
    switch state.phase {
    case .waiting(_, let isRetry):
      let elapsed = isRetry ? now - (memory.failed ?? now) : now - (memory.start ?? now)
      let due = isRetry ? 60_000 : plan.delayMs
      #expect(elapsed - memory.late < due, "a late test, seed \(seed)")
      #expect((deadline ?? .max) - now <= due - elapsed + memory.late, "a late timer, seed \(seed)")
    case .ready: #expect(!isPresent, "a test that does not begin, seed \(seed)")
    case .testing, .aborting: #expect(state.running != nil)
    case .finished: #expect(state.running == nil)
    }
  }

  /// Compares the history at the end with what has happened.
  func checkTheEnd(_ state: LoopState, _ results: [Key: LoopOutcome]) {
    #expect(state.ending != nil, "no end, seed \(seed)")
    let keys = state.history.map(Key.init)
    #expect(Set(keys).count == keys.count, "seed \(seed)")
    #expect(keys == keys.sorted())
    #expect(Set(begun).isSubset(of: Set(keys)), "a lost test, seed \(seed)")
    let numbers = state.history.filter { $0.attempt == 1 }.map(\.number)
    #expect(numbers == Array(1..<numbers.count + 1), "a gap, seed \(seed)")
    if state.ending == .completed { #expect(numbers.count == plan.tests, "seed \(seed)") }
    for test in state.history {
      #expect(test.outcome != nil, "seed \(seed)")
      let isComplete = results[Key(test)]?.status == .completed
      #expect((test.outcome?.status == .completed) == isComplete, "a lost result, seed \(seed), test \(test)")
    }
    for (first, second) in zip(state.history, state.history.dropFirst()) where second.attempt == 2 {
      let status = first.outcome?.status
      #expect(status == .failed || status == .interrupted, "a needless repetition, seed \(seed)")
    }
  }
}
