import DeterministicTesting
import Testing

@testable import Uploads

/// What is uploaded next, when, and with whose credentials: by events alone.
@Suite struct QueueMachineTests {
  private func machine(_ count: Int, limit: Int = 3) -> QueueMachine {
    var machine = QueueMachine(limit: limit)
    #expect(machine.handle(.paused(true), at: .zero) == [])
    for id in 1...Int64(count) { #expect(machine.handle(.added(id, account: "a", attempts: 0), at: .zero) == []) }
    #expect(machine.handle(.credentials("a", generation: 1), at: .zero) == [])
    return machine
  }

  private func started(_ actions: [QueueMachine.Action]) -> [Int64] {
    actions.compactMap { if case .start(let id, _) = $0 { id } else { nil } }
  }

  @Test func theOldestFirstAndEveryFourthTimeTheNewest() {
    var machine = machine(9)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1, 2, 3])
    var order: [Int64] = []
    for _ in 0..<6 {
      let id = machine.running.min() ?? 0
      order += started(machine.handle(.succeeded(id), at: .zero))
    }
    #expect(order == [9, 4, 5, 6, 8, 7])
    for id in machine.running.sorted() { #expect(machine.handle(.succeeded(id), at: .zero) == []) }
    #expect(machine.ids == [] && machine.nextInstant == nil)
  }

  @Test func delaysDoubleUpToThirtySecondsForEver() {
    var machine = machine(1)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1])
    var now = Duration.zero
    for (failure, delay) in [2, 4, 8, 16, 30, 30, 30].enumerated() {
      let actions = machine.handle(.failed(1, .temporary), at: now, random: 1)
      #expect(actions == [.postpone(1, attempts: failure + 1, delay: .seconds(delay))])
      #expect(machine.nextInstant == now + .seconds(delay))
      #expect(machine.handle(.tick, at: now + .seconds(delay) - .nanoseconds(1)) == [])
      now += .seconds(delay)
      #expect(started(machine.handle(.tick, at: now)) == [1])
    }
    #expect(RetryDelay.after(failures: .max, random: 0) == .milliseconds(22_500))
  }

  @Test func anItemThatFailsDoesNotKeepOthers() {
    var machine = machine(4, limit: 1)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1])
    #expect(started(machine.handle(.failed(1, .temporary), at: .zero)) == [2])
    #expect(started(machine.handle(.failed(2, .final), at: .zero)) == [3])
    #expect(machine.attempts(of: 2) == nil)
  }

  @Test func whenNobodyReachesTheServerOneFindsOut() {
    var machine = machine(100)
    #expect(started(machine.handle(.paused(false), at: .zero)).count == 3)
    for id in machine.running.sorted() { #expect(started(machine.handle(.failed(id, .network), at: .zero)) == []) }
    // A long time passes: one attempt each time, whoever's turn it is.
    var (now, attempts) = (Duration.zero, 0)
    while now < .seconds(600), let next = machine.nextInstant {
      now = next
      let ids = started(machine.handle(.tick, at: now))
      #expect(ids.count == 1)
      attempts += 1
      #expect(started(machine.handle(.failed(ids.first ?? 0, .network), at: now)) == [])
    }
    #expect((20...35).contains(attempts))
    // The network says that it is back: at once, and when one has got through all go.
    let probe = started(machine.handle(.networkReturned, at: now))
    #expect(probe.count == 1)
    #expect(started(machine.handle(.succeeded(probe.first ?? 0), at: now)).count == 3)
  }

  @Test func aReturningNetworkEndsEveryWait() {
    var machine = machine(2)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1, 2])
    for id in [1, 2] as [Int64] { #expect(started(machine.handle(.failed(id, .temporary), at: .zero)) == []) }
    #expect(started(machine.handle(.networkReturned, at: .milliseconds(1))) == [1, 2])
  }

  @Test func refusedCredentialsAreAskedForOnceAndCountAsNoAttempt() {
    var machine = machine(5)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1, 2, 3])
    #expect(
      machine.handle(.failed(1, .credentials), at: .zero)
        == [.refresh("a", generation: 1), .postpone(1, attempts: 0, delay: nil)])
    #expect(machine.handle(.failed(2, .credentials), at: .zero) == [.postpone(2, attempts: 0, delay: nil)])
    #expect(machine.lacksCredentials("a"))
    #expect(machine.handle(.tick, at: .seconds(60)) == [])
    #expect(machine.handle(.networkReturned, at: .seconds(60)) == [])
    let actions = machine.handle(.credentials("a", generation: 2), at: .seconds(61))
    // It is the newest one's turn.
    #expect(actions == [.start(5, generation: 2), .start(1, generation: 2)])
    // The third was sent with the old ones all the time: nobody asks for others because of that.
    let late = machine.handle(.failed(3, .credentials), at: .seconds(62))
    #expect(late == [.postpone(3, attempts: 0, delay: nil), .start(2, generation: 2)])
  }

  @Test func whatIsNotAllowedKeepsNothingElse() {
    var machine = machine(3, limit: 1)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1])
    let actions = machine.handle(.failed(1, .permission), at: .zero)
    #expect(actions.contains(.refresh("a", generation: 1)) && started(actions) == [2])
    #expect(machine.handle(.networkReturned, at: .zero) == [])
    #expect(started(machine.handle(.succeeded(2), at: .zero)) == [3])
    #expect(started(machine.handle(.succeeded(3), at: .zero)) == [])
    #expect(machine.nextInstant == QueueMachine.refusalPause)
    #expect(machine.handle(.credentials("a", generation: 2), at: .seconds(1)) == [.start(1, generation: 2)])
  }

  @Test func accountsDoNotMix() {
    var machine = QueueMachine(limit: 3)
    for (id, account) in [(1, "a"), (2, "b"), (3, "a"), (4, "c")] {
      #expect(machine.handle(.added(Int64(id), account: account, attempts: 0), at: .zero) == [])
    }
    #expect(machine.handle(.credentials("b", generation: 1), at: .zero) == [.start(2, generation: 1)])
    #expect(
      machine.handle(.credentials("a", generation: 7), at: .zero)
        == [.start(1, generation: 7), .start(3, generation: 7)])
    #expect(machine.handle(.succeeded(1), at: .zero) == [])
    #expect(machine.lacksCredentials("c") && !machine.lacksCredentials("a"))
  }

  @Test func whatAPersonTakesAwayIsStopped() {
    var machine = machine(5)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1, 2, 3])
    #expect(machine.handle(.removed(2), at: .zero) == [.cancel(2), .start(5, generation: 1)])
    #expect(machine.handle(.removed(4), at: .zero) == [])
    #expect(machine.handle(.failed(2, .temporary), at: .zero) == [])
    #expect(machine.ids.sorted() == [1, 3, 5])
  }

  /// Any events in any order: never more than the limit at once, none lost, none started twice.
  @Test(arguments: 1...50 as ClosedRange<UInt64>) func whateverHappens(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (machine, now, open, running, next) = (
      QueueMachine(limit: 3), Duration.zero, Set<Int64>(), Set<Int64>(), 1 as Int64
    )
    var generations = ["a": 0, "b": 0]
    for _ in 0..<2000 {
      let event: QueueMachine.Event
      switch Int.random(in: 0..<10, using: &random) {
      case 0, 1:
        event = .added(next, account: Bool.random(using: &random) ? "a" : "b", attempts: 0)
        open.insert(next)
        next += 1
      case 2, 3, 4:
        guard let id = running.sorted().randomElement(using: &random) else { continue }
        running.remove(id)
        open.remove(id)
        event = .succeeded(id)
      case 5, 6:
        guard let id = running.sorted().randomElement(using: &random),
          let kind = FailureKind.allCases.randomElement(using: &random)
        else { continue }
        running.remove(id)
        if kind == .final { open.remove(id) }
        event = .failed(id, kind)
      case 7:
        let name = Bool.random(using: &random) ? "a" : "b"
        generations[name, default: 0] += 1
        event = .credentials(name, generation: generations[name] ?? 0)
      case 8:
        guard let id = open.sorted().randomElement(using: &random) else { continue }
        open.remove(id)
        running.remove(id)
        event = .removed(id)
      default:
        now = max(now, machine.nextInstant ?? now)
        event = .tick
      }
      for case .start(let id, _) in machine.handle(event, at: now, random: .random(in: 0...1, using: &random)) {
        #expect(open.contains(id) && running.insert(id).inserted, "seed \(seed)")
      }
      #expect(running.count <= 3 && running == machine.running && Set(machine.ids) == open, "seed \(seed)")
    }
    // Everything goes once the server is back and there are credentials.
    for name in ["a", "b"] {
      running.formUnion(started(machine.handle(.credentials(name, generation: 9999), at: now)))
    }
    for _ in 0..<10_000 where !open.isEmpty {
      guard let id = running.popFirst() else {
        now = machine.nextInstant ?? now
        running.formUnion(started(machine.handle(.tick, at: now)))
        continue
      }
      open.remove(id)
      running.formUnion(started(machine.handle(.succeeded(id), at: now)))
    }
    #expect(open == [], "seed \(seed)")
  }
}
