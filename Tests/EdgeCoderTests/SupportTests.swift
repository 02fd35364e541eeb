import Testing

import struct DBus.Lock

@testable import EdgeCoder

@Suite(.timeLimit(.minutes(1))) struct SupportTests {
  @Test func aBoundedStreamRefusesAndCounts() async {
    let stream = BoundedStream<Int>(limit: 2)
    #expect([1, 2, 3, 4].map { stream.send($0) } == [true, true, false, false])
    #expect(stream.dropped == 2)
    stream.finish()
    #expect(!stream.send(5) && stream.dropped == 2)
    var found: [Int] = []
    for await element in stream.elements { found.append(element) }
    #expect(found == [1, 2])
  }

  @Test func aBoundedStreamDropsTheOldestWhenAskedTo() async {
    let stream = BoundedStream<Int>(limit: 2, overflow: .dropOldest)
    for number in 1...4 { stream.send(number) }
    stream.finish()
    var found: [Int] = []
    for await element in stream.elements { found.append(element) }
    #expect(found == [3, 4] && stream.dropped == 2)
  }

  @Test func aStreamThatMustBeCompleteEndsWithItsMarker() async {
    let stream = BoundedStream<Int>(limit: 4)
    #expect([1, 2, 3, 4].map { stream.send($0, orEndWith: -1) } == [true, true, true, false])
    var found: [Int] = []
    for await element in stream.elements { found.append(element) }
    #expect(found == [1, 2, 3, -1])
  }

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
    let gate = ConnectGate()
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
