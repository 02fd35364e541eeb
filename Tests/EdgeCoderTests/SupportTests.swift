import Testing

import struct DBus.Lock

@testable import EdgeCoder

@Suite(.timeLimit(.minutes(1))) struct SupportTests {
  @Test func aLimitThrowsItsErrorAndCancelsTheWork() async throws {
    let clock = ManualClock()
    let time = TimeSource(clock)
    let cancelled = Counter()
    let task = Task {
      try await time.withLimit(.seconds(3), orThrow: LinkError("waiting", .seconds(3))) {
        do { try await hang() } catch {
          cancelled.increment()
          throw error
        }
      }
    }
    await clock.advance(toSleeperAt: .seconds(3))
    let error = await #expect(throws: LinkError.self) { try await task.value }
    #expect(error?.description == "waiting took longer than 3000 ms")
    #expect(cancelled.value == 1)
    #expect(try await time.withLimit(.seconds(3), orThrow: LinkError("", .zero)) { 42 } == 42)
  }

  @Test func theGateLetsOneThroughAtATimeInOrder() async throws {
    let gate = Gate()
    let (entered, order) = (Counter(), Lock<[Int]>([]))
    let (stream, door) = AsyncStream<Void>.makeStream()
    var tasks: [Task<Void, any Error>] = []
    for number in 1...4 {
      tasks.append(
        Task {
          try await gate.pass {
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
