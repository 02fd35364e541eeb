import DeterministicTesting
import SystemTesting
import Testing

@testable import Uploads

/// The next item, its time and its credentials, decided by events alone.
@Suite("The state machine of the queue", .computing) struct QueueMachineTests {
  private static let failure = "the reason"

  private func failed(_ id: Int64, _ kind: FailureKind) -> QueueMachine.Event {
    .failed(id, UploadFailure(kind: kind, reason: Self.failure))
  }

  private func postpone(
    _ id: Int64, _ kind: FailureKind, failures: Int, delay: Duration? = nil
  ) -> QueueMachine.Action {
    .postpone(id, failures: failures, delay: delay, UploadFailure(kind: kind, reason: Self.failure))
  }

  private func machine(_ count: Int, limit: Int = 3) -> QueueMachine {
    var machine = QueueMachine(limit: limit)
    #expect(machine.handle(.paused(true), at: .zero) == [])
    for id in 1...Int64(count) { #expect(machine.handle(.added(id, account: "a", failures: 0), at: .zero) == []) }
    #expect(machine.handle(.credentials("a", generation: 1), at: .zero) == [])
    return machine
  }

  private func started(_ actions: [QueueMachine.Action]) -> [Int64] {
    actions.compactMap { if case .start(let id, _) = $0 { id } else { nil } }
  }

  @Test("The oldest item is first, and every fourth time the newest") func theOldestFirstAndEveryFourthTimeTheNewest() {
    var machine = machine(9)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1, 2, 3])
    var order: [Int64] = []
    for _ in 0..<6 {
      let id = machine.uploading.min() ?? 0
      order += started(machine.handle(.succeeded(id), at: .zero))
    }
    #expect(order == [9, 4, 5, 6, 8, 7])
    for id in machine.uploading.sorted() { #expect(machine.handle(.succeeded(id), at: .zero) == []) }
    #expect(machine.ids == [])
    #expect(machine.nextInstant == nil)
  }

  @Test("While uploads are held none starts, and those in progress continue") func held() {
    var machine = machine(5, limit: 2)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1, 2])
    #expect(machine.handle(.held(true), at: .zero) == [])
    #expect(machine.handle(.succeeded(1), at: .zero) == [])
    #expect(machine.uploading == [2])
    #expect(started(machine.handle(.held(false), at: .zero)) == [3])
  }

  @Test("Delays double up to 30 s and go on without end") func delaysDoubleUpToThirtySecondsForEver() {
    var machine = machine(1)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1])
    var now = Duration.zero
    for (failure, delay) in [2, 4, 8, 16, 30, 30, 30].enumerated() {
      let actions = machine.handle(failed(1, .temporary), at: now, random: 1)
      #expect(actions == [postpone(1, .temporary, failures: failure + 1, delay: .seconds(delay))])
      #expect(machine.nextInstant == now + .seconds(delay))
      #expect(machine.handle(.tick, at: now + .seconds(delay) - .nanoseconds(1)) == [])
      now += .seconds(delay)
      #expect(started(machine.handle(.tick, at: now)) == [1])
    }
    #expect(QueueMachine.backoff.delay(afterFailures: .max, random: 0) == .milliseconds(22_500))
  }

  @Test("An item that fails does not delay others") func anItemThatFailsDoesNotKeepOthers() {
    var machine = machine(4, limit: 1)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1])
    #expect(started(machine.handle(failed(1, .temporary), at: .zero)) == [2])
    #expect(started(machine.handle(failed(2, .final), at: .zero)) == [3])
    #expect(machine.failures(of: 2) == nil)
  }

  @Test("While the server is unreachable, one attempt at a time probes it") func whenNobodyReachesTheServerOneFindsOut()
  {
    var machine = machine(100)
    #expect(started(machine.handle(.paused(false), at: .zero)).count == 3)
    for id in machine.uploading.sorted() { #expect(started(machine.handle(failed(id, .network), at: .zero)) == []) }
    // A long time passes with one attempt at a time.
    var now = Duration.zero
    var attempts = 0
    while now < .seconds(600), let next = machine.nextInstant {
      now = next
      let ids = started(machine.handle(.tick, at: now))
      #expect(ids.count == 1)
      attempts += 1
      #expect(started(machine.handle(failed(ids.first ?? 0, .network), at: now)) == [])
    }
    #expect((20...35).contains(attempts))
    // A returning network leads to a probe at once, and the success of the probe to all others.
    let probe = started(machine.handle(.networkReturned, at: now))
    #expect(probe.count == 1)
    #expect(started(machine.handle(.succeeded(probe.first ?? 0), at: now)).count == 3)
  }

  @Test("A returning network ends every wait") func aReturningNetworkEndsEveryWait() {
    var machine = machine(2)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1, 2])
    for id in [1, 2] as [Int64] { #expect(started(machine.handle(failed(id, .temporary), at: .zero)) == []) }
    #expect(started(machine.handle(.networkReturned, at: .milliseconds(1))) == [1, 2])
  }

  @Test("Refused credentials are requested again once and count as no attempt")
  func refusedCredentialsAreAskedForOnceAndCountAsNoAttempt() {
    var machine = machine(5)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1, 2, 3])
    #expect(
      machine.handle(failed(1, .credentials), at: .zero)
        == [.refresh("a", generation: 1), postpone(1, .credentials, failures: 0)])
    #expect(machine.handle(failed(2, .credentials), at: .zero) == [postpone(2, .credentials, failures: 0)])
    #expect(machine.lacksCredentials("a"))
    #expect(machine.handle(.tick, at: .seconds(60)) == [])
    #expect(machine.handle(.networkReturned, at: .seconds(60)) == [])
    let actions = machine.handle(.credentials("a", generation: 2), at: .seconds(61))
    // It is the turn of the newest item.
    #expect(actions == [.start(5, generation: 2), .start(1, generation: 2)])
    // The third attempt had the old credentials: its failure requests no others.
    let late = machine.handle(failed(3, .credentials), at: .seconds(62))
    #expect(late == [postpone(3, .credentials, failures: 0), .start(2, generation: 2)])
  }

  @Test("Credentials that are refused again after 15 min are requested again")
  func refusedAgain() {
    for kind in [FailureKind.credentials, .permission] {
      var machine = machine(1)
      #expect(started(machine.handle(.paused(false), at: .zero)) == [1])
      #expect(machine.handle(failed(1, kind), at: .zero).first == .refresh("a", generation: 1))
      #expect(started(machine.handle(.tick, at: QueueMachine.refusalDelay)) == [1])
      let again = machine.handle(failed(1, kind), at: QueueMachine.refusalDelay)
      #expect(again.first == .refresh("a", generation: 1), "\(kind)")
    }
  }

  @Test("An item without permission does not delay others and waits for newer credentials")
  func whatIsNotAllowedKeepsNothingElse() {
    var machine = machine(3, limit: 1)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1])
    let actions = machine.handle(failed(1, .permission), at: .zero)
    #expect(actions.contains(.refresh("a", generation: 1)))
    #expect(started(actions) == [2])
    #expect(machine.handle(.networkReturned, at: .zero) == [])
    #expect(started(machine.handle(.succeeded(2), at: .zero)) == [3])
    #expect(started(machine.handle(.succeeded(3), at: .zero)) == [])
    #expect(machine.nextInstant == QueueMachine.refusalDelay)
    #expect(
      machine.handle(.credentials("a", generation: 2), at: .seconds(1)) == [.start(1, generation: 2)]
    )
  }

  @Test("Each item is uploaded with the credentials of its own account") func accountsDoNotMix() {
    var machine = QueueMachine(limit: 3)
    for (id, account) in [(1, "a"), (2, "b"), (3, "a"), (4, "c")] {
      #expect(machine.handle(.added(Int64(id), account: account, failures: 0), at: .zero) == [])
    }
    #expect(
      machine.handle(.credentials("b", generation: 1), at: .zero) == [.start(2, generation: 1)])
    #expect(
      machine.handle(.credentials("a", generation: 7), at: .zero)
        == [.start(1, generation: 7), .start(3, generation: 7)])
    #expect(machine.handle(.succeeded(1), at: .zero) == [])
    #expect(machine.lacksCredentials("c"))
    #expect(!machine.lacksCredentials("a"))
  }

  @Test("A removed item is cancelled, and its late result ignored") func whatAPersonTakesAwayIsStopped() {
    var machine = machine(5)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1, 2, 3])
    #expect(machine.handle(.removed(2), at: .zero) == [.cancel(2), .start(5, generation: 1)])
    #expect(machine.handle(.removed(4), at: .zero) == [])
    #expect(machine.handle(failed(2, .temporary), at: .zero) == [])
    #expect(machine.ids.sorted() == [1, 3, 5])
  }

  @Test("A paused item that an attempt may have stored is looked for when it is resumed")
  func anItemThatComesBackIsLookedFor() {
    var machine = machine(1)
    #expect(started(machine.handle(.paused(false), at: .zero)) == [1])
    #expect(machine.handle(.removed(1), at: .zero) == [.cancel(1)])
    #expect(
      machine.handle(.added(1, account: "a", failures: 0), at: .zero)
        == [.start(1, generation: 1)])
    #expect(
      machine.handle(failed(1, .final), at: .zero)
        == [.giveUp(1, UploadFailure(kind: .final, reason: Self.failure))])
    #expect(
      machine.handle(.added(1, account: "a", failures: 0), at: .zero)
        == [.start(1, generation: 1)])
  }

  @Test(
    "After any events the limit holds, no item is lost and none is started twice",
    arguments: 1...50 as ClosedRange<UInt64>)
  func whateverHappens(_ seed: UInt64) {
    var model = QueueModel(seed: seed)
    for _ in 0..<2000 { model.step() }
    model.finish()
    #expect(model.open == [], "seed \(seed)")
  }
}

/// A queue machine beside the sets of items that it must have.
private struct QueueModel {
  private var machine = QueueMachine(limit: 3)
  private var random: SeededGenerator
  private var now = Duration.zero
  private(set) var open: Set<Int64> = []
  private var uploading: Set<Int64> = []
  private var next: Int64 = 1
  private var generations = ["a": 0, "b": 0]

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func step() {
    guard let event = event() else { return }
    handle(event)
    #expect(uploading.count <= 3)
    #expect(uploading == machine.uploading)
    #expect(Set(machine.ids) == open)
  }

  /// Returns a random event; `nil` if the chosen kind needs an item and there is none.
  private mutating func event() -> QueueMachine.Event? {
    let name = Bool.random(using: &random) ? "a" : "b"
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1:
      open.insert(next)
      defer { next += 1 }
      return .added(next, account: name, failures: 0)
    case 2, 3, 4:
      guard let id = uploading.sorted().randomElement(using: &random) else { return nil }
      uploading.remove(id)
      open.remove(id)
      return .succeeded(id)
    case 5, 6:
      guard let id = uploading.sorted().randomElement(using: &random),
        let kind = FailureKind.allCases.randomElement(using: &random)
      else { return nil }
      uploading.remove(id)
      if kind == .final { open.remove(id) }
      return .failed(id, UploadFailure(kind: kind, reason: "the reason"))
    case 7:
      generations[name, default: 0] += 1
      return .credentials(name, generation: generations[name] ?? 0)
    case 8:
      guard let id = open.sorted().randomElement(using: &random) else { return nil }
      open.remove(id)
      uploading.remove(id)
      return .removed(id)
    default:
      now = max(now, machine.nextInstant ?? now)
      return .tick
    }
  }

  private mutating func handle(_ event: QueueMachine.Event) {
    let jitter = Double.random(in: 0...1, using: &random)
    for case .start(let id, _) in machine.handle(event, at: now, random: jitter) {
      #expect(open.contains(id))
      let isNew = uploading.insert(id).inserted
      #expect(isNew)
    }
  }

  /// Lets every attempt succeed, with accepted credentials.
  mutating func finish() {
    for name in ["a", "b"] { handle(.credentials(name, generation: 9999)) }
    for _ in 0..<10_000 where !open.isEmpty {
      guard let id = uploading.popFirst() else {
        now = machine.nextInstant ?? now
        handle(.tick)
        continue
      }
      open.remove(id)
      handle(.succeeded(id))
    }
  }
}
