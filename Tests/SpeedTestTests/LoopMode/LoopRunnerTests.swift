import DeterministicTesting
import Foundation
import Streams
import Testing

@testable import SpeedTest

/// A host whose clock, disk and network a test moves by hand.
private final class ManualHost: LoopHost {
  struct Values {
    var saved: [LoopState] = []
    var isDiskFull = false
    var isAwake = false
    var notices: [LoopNotice] = []
    var problem: String?
    var cancelled = 0
  }

  let clock = ManualClock()
  let values = Lock(Values())
  /// The tests that have begun.
  let begun: BoundedStream<LoopTest>
  private let begin: BoundedStream<LoopTest>.Source
  private let outcomes: BoundedStream<LoopOutcome>
  let finish: BoundedStream<LoopOutcome>.Source
  let changes: BoundedStream<LoopUpdate>
  private let change: BoundedStream<LoopUpdate>.Source

  init() {
    (begun, begin) = BoundedStream.make(of: LoopTest.self, limit: 100)
    (outcomes, finish) = BoundedStream.make(of: LoopOutcome.self, limit: 100)
    (changes, change) = BoundedStream.make(of: LoopUpdate.self, limit: 1000)
  }

  func now() -> LoopInstant {
    let ms = clock.now.offset / .milliseconds(1)
    return LoopInstant(wallMs: 1_800_000_000_000 + Int64(ms), boot: "a", bootMs: Int64(ms))
  }

  func sleep(milliseconds: Int64) async throws { try await Task.sleep(for: .milliseconds(milliseconds), clock: clock) }

  func save(_ state: LoopState) throws {
    try values.withLock { values in
      if values.isDiskFull { throw SpeedTestError(.storage, "no room") }
      values.saved.append(state)
    }
  }

  func run(_ test: LoopTest) async -> LoopOutcome {
    begin.yield(test)
    for await outcome in outcomes { return outcome }
    values.withLock { $0.cancelled += 1 }
    return LoopOutcome(.interrupted, reason: "cancelled")
  }

  func storedOutcome(of test: LoopTest) -> LoopOutcome? { nil }
  func keepAwake(_ isNeeded: Bool) { values.withLock { $0.isAwake = isNeeded } }
  func notify(_ notice: LoopNotice) { values.withLock { $0.notices.append(notice) } }

  func loopChanged(_ update: LoopUpdate) {
    values.withLock { $0.problem = update.problem }
    change.yield(update)
  }

  func nextTest() async throws -> LoopTest {
    for await test in begun { return test }
    throw CancellationError()
  }

  /// Waits for a change after which a condition holds.
  func until(_ isReached: (LoopUpdate) -> Bool) async { for await update in changes where isReached(update) { return } }
}

@Suite("The runner of a loop", .timeLimit(.minutes(5))) struct LoopRunnerTests {
  private func state(_ host: ManualHost, tests: Int = 2) throws -> LoopState {
    let plan = try LoopPlan(tests: tests, delay: .seconds(600), movement: nil)
    return LoopState(id: UUID(), plan: plan, at: host.now())
  }

  @Test("A loop runs to its end, with one timer and without ticks") func toTheEnd() async throws {
    let host = ManualHost()
    let runner = LoopRunner(try state(host), host: host)
    let loop = Task { try await runner.run() }
    await host.until { _ in true }
    await runner.handle(.presence(.present))
    #expect(try await host.nextTest().number == 1)
    // Stored before it began.
    #expect(host.values.withLock { $0.saved.last?.running?.number } == 1)
    host.finish.yield(LoopOutcome(.completed))
    await host.clock.advance(toSleeperAt: .seconds(600))
    #expect(try await host.nextTest().number == 2)
    host.finish.yield(LoopOutcome(.completed))
    #expect(try await loop.value == .completed)
    #expect(host.values.withLock { $0.saved.last?.ending } == .completed)
    #expect(!host.values.withLock { $0.isAwake })
  }

  @Test("What comes before the launch waits for it") func early() async throws {
    let host = ManualHost()
    let runner = LoopRunner(try state(host, tests: 1), host: host)
    for _ in 0..<100 { await runner.handle(.presence(.away)) }
    await runner.handle(.presence(.present))
    #expect(host.begun.received == 0)
    let loop = Task { try await runner.run() }
    #expect(try await host.nextTest().attempt == 1)
    host.finish.yield(LoopOutcome(.completed))
    #expect(try await loop.value == .completed)
    #expect(host.values.withLock { $0.saved.last?.history.map(\.outcome?.status) } == [.completed])
  }

  @Test("A test does not begin before it is stored, and begins when there is room again") func fullDisk() async throws {
    let host = ManualHost()
    host.values.withLock { $0.isDiskFull = true }
    let runner = LoopRunner(try state(host), host: host)
    let loop = Task { try await runner.run() }
    await host.until { $0.problem != nil }
    await runner.handle(.presence(.present))
    await host.clock.waitForSleeper(until: .seconds(10))
    #expect(host.begun.received == 0)
    host.values.withLock { $0.isDiskFull = false }
    await host.clock.advance(toSleeperAt: .seconds(10))
    #expect(try await host.nextTest().number == 1)
    await host.until { $0.problem == nil && $0.state.running != nil }
    loop.cancel()
    await #expect(throws: CancellationError.self) { try await loop.value }
  }

  @Test("A cancelled loop ends its test, stores it as interrupted, and can be continued") func cancelled() async throws
  {
    let host = ManualHost()
    let runner = LoopRunner(try state(host), host: host)
    let loop = Task { try await runner.run() }
    await host.until { _ in true }
    await runner.handle(.presence(.present))
    _ = try await host.nextTest()
    loop.cancel()
    await #expect(throws: CancellationError.self) { try await loop.value }
    #expect(host.values.withLock { $0.cancelled } == 1)
    let left = try #require(host.values.withLock { $0.saved.last })
    #expect(left.history.map(\.outcome?.status) == [.interrupted])
    #expect(!host.values.withLock { $0.isAwake })
    // Nothing that comes late begins a test.
    await runner.handle(.presence(.present))
    host.clock.advance(by: .seconds(6000))
    #expect(host.begun.received == 1)

    let next = LoopRunner(left, host: host)
    let continued = Task { try await next.run() }
    await host.until { $0.state.history.count == 1 }
    await next.handle(.presence(.present))
    let again = try await host.nextTest()
    #expect(again.attempt == 2)
    continued.cancel()
    await #expect(throws: CancellationError.self) { try await continued.value }
  }

  @Test("A test that loses its user is cancelled") func backgrounded() async throws {
    let host = ManualHost()
    let runner = LoopRunner(try state(host, tests: 1), host: host)
    let loop = Task { try await runner.run() }
    await host.until { _ in true }
    await runner.handle(.presence(.present))
    _ = try await host.nextTest()
    await runner.handle(.presence(.away))
    #expect(try await loop.value == .completed)
    #expect(host.values.withLock { $0.saved.last?.history.map(\.outcome?.status) } == [.backgrounded])
  }

  @Test("A user's stop ends the test and the loop") func stopped() async throws {
    let host = ManualHost()
    let runner = LoopRunner(try state(host), host: host)
    let loop = Task { try await runner.run() }
    await host.until { _ in true }
    await runner.handle(.presence(.present))
    _ = try await host.nextTest()
    await runner.handle(.stop)
    #expect(try await loop.value == .stopped)
    #expect(host.values.withLock { $0.saved.last?.ending } == .stopped)
    #expect(try await LoopRunner(host.values.withLock { $0.saved.last! }, host: host).run() == .stopped)
  }

  @Test("The machine is kept awake and a due test notifies") func awakeAndNotified() async throws {
    let host = ManualHost()
    let runner = LoopRunner(try state(host), host: host)
    let loop = Task { try await runner.run() }
    await host.until { _ in true }
    await runner.handle(.presence(.present))
    _ = try await host.nextTest()
    host.finish.yield(LoopOutcome(.completed))
    await host.clock.waitForSleeper(until: .seconds(600))
    #expect(host.values.withLock { $0.isAwake })
    await runner.handle(.presence(.away))
    await host.clock.advance(toSleeperAt: .seconds(600))
    await host.until { if case .ready = $0.state.phase { true } else { false } }
    #expect(!host.values.withLock { $0.isAwake })
    #expect(host.values.withLock { $0.notices.map(\.number) } == [2])
    loop.cancel()
    await #expect(throws: CancellationError.self) { try await loop.value }
  }
}
