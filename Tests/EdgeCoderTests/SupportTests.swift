import DeterministicTesting
import EdgeCoderTesting
import Streams
import SystemTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("The test kit", .timeLimit(.minutes(5))) struct SupportTests {
  @Test("A limit throws its error and cancels the work") func aLimitThrowsItsErrorAndCancelsTheWork() async throws {
    let clock = ManualClock()
    let time = TimeSource(clock)
    let cancelled = Counter()
    let task = Task {
      try await time.withLimit(.seconds(3), orThrow: PhaseTimeout("waiting", .seconds(3))) {
        do { try await hang() } catch {
          cancelled.increment()
          throw error
        }
      }
    }
    await clock.advance(toSleeperAt: .seconds(3))
    let error = await #expect(throws: PhaseTimeout.self) { try await task.value }
    #expect(error?.description == "waiting took longer than 3000 ms")
    #expect(cancelled.value == 1)
    #expect(try await time.withLimit(.seconds(3), orThrow: PhaseTimeout("", .zero)) { 42 } == 42)
  }

  @Test("Progress extends the timeout, within the total") func whatGetsOnHasTimeAgainButNotForEver() async throws {
    let clock = ManualClock()
    let time = TimeSource(clock)
    let (steps, next) = AsyncStream.makeStream(of: Void.self)
    let taken = Counter()
    let limits = ProgressLimits(first: .seconds(9), pause: .seconds(3), total: .seconds(14))
    let task = Task {
      try await time.withLimits(limits, orThrow: { PhaseTimeout("working", time.now) }) { step in
        for await _ in steps {
          step()
          taken.increment()
        }
        try Task.checkCancellation()
      }
    }
    await clock.waitForSleeper(until: .seconds(3))
    // The first step has the most time; each moves the limit, at last only to the end of all.
    for (count, second) in [8, 10, 12, 13].enumerated() {
      clock.advance(by: .seconds(second) - clock.now.offset)
      next.yield()
      try await eventually { taken.value == count + 1 }
    }
    await clock.advance(toSleeperAt: .seconds(14))
    let error = await #expect(throws: PhaseTimeout.self) { try await task.value }
    #expect(error?.description == "working took longer than 14000 ms")

    // Who stands still after a step is given up long before the first step's time is over.
    let still = Task {
      try await time.withLimits(limits, orThrow: { PhaseTimeout("working", time.now) }) { step in
        step()
        taken.increment()
        try await hang()
      }
    }
    try await eventually { taken.value == 5 }
    await clock.advance(toSleeperAt: .seconds(17))
    let second = await #expect(throws: PhaseTimeout.self) { try await still.value }
    #expect(second?.description == "working took longer than 17000 ms")
  }

  @Test("A central that connects again as soon as its link is lost keeps the new link")
  func aCentralThatConnectsAgainAtOnceKeepsItsNewLink() async throws {
    let air = LoopbackCentral()
    let phone = LoopbackPhone()
    air.see(phone)
    let lost = try await air.connect(to: phone.id)
    // Connects within the call that reports the loss: nothing can be earlier.
    let again = Task(executorPreference: InlineExecutor()) {
      for await event in lost.events { if case .disconnected = event { break } }
      return try await air.connect(to: phone.id)
    }
    phone.dropAll()
    let connection = try await again.value
    #expect(await air.isLinked(to: phone.id))
    await connection.disconnect()
    #expect(await air.isLinked(to: phone.id) == false)
  }

  @Test("The mutex admits one operation at a time in order") func theGateLetsOneThroughAtATimeInOrder() async throws {
    let gate = AsyncMutex()
    let entered = Counter()
    let order = Lock<[Int]>([])
    let (stream, door) = AsyncStream<Void>.makeStream()
    var tasks: [Task<Void, any Error>] = []
    for number in 1...4 {
      tasks.append(
        Task {
          try await gate.withLock {
            entered.increment()
            order.withLock { $0.append(number) }
            for await _ in stream { break }
          }
        })
      try await eventually { await gate.count == number }
    }
    tasks[2].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[2].value }
    for passed in 1...3 {
      #expect(entered.value == passed)
      door.yield()
      try await eventually { await gate.count == 3 - passed }
      if passed < 3 { try await eventually { entered.value == passed + 1 } }
    }
    #expect(order.withLock { $0 } == [1, 2, 4])
  }
}

/// Runs each job within the call that makes it ready.
private final class InlineExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
  }
}
