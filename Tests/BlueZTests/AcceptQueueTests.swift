import Streams
import Testing

@testable import BlueZ

/// Errors are queued in place of channels, which need a radio.
@Suite("The queue of accepted channels", .timeLimit(.minutes(5))) struct AcceptQueueTests {
  private func refusal(_ number: Int) -> Result<L2CAPChannel, BlueZError> { .failure(BlueZError(.failed, "\(number)")) }

  private func take(from queue: AcceptQueue) async -> String {
    do {
      return try await queue.take() == nil ? "closed" : "channel"
    } catch let error as BlueZError {
      return error.message
    } catch {
      return "cancelled"
    }
  }

  @Test("Channels leave the queue in the order in which they were added") func whatIsPutInComesOutInOrder() async {
    let queue = AcceptQueue(limit: 2)
    #expect(queue.put(refusal(1)))
    async let first = take(from: queue)
    #expect(queue.put(refusal(2)))
    #expect(await first == "1")
    #expect(await take(from: queue) == "2")
  }

  @Test("A full queue has no free slot until a channel is taken") func aFullQueueHasNoRoomUntilOneIsTaken() async {
    let queue = AcceptQueue(limit: 1)
    await queue.waitForRoom()
    #expect(queue.put(refusal(1)))
    let hasRoom = Lock(false)
    let waiting = Task {
      await queue.waitForRoom()
      hasRoom.withLock { $0 = true }
    }
    for _ in 0..<100 { await Task.yield() }
    #expect(!hasRoom.withLock { $0 })
    #expect(await take(from: queue) == "1")
    await waiting.value
  }

  /// Waiting tasks must not wake each other without end.
  @Test("Each of several waiting tasks gets one channel") func severalWait() async {
    let queue = AcceptQueue(limit: 4)
    let takers = (0..<3).map { _ in Task { await take(from: queue) } }
    for _ in 0..<100 { await Task.yield() }
    takers[1].cancel()
    #expect(await takers[1].value == "cancelled")
    #expect(queue.put(refusal(1)))
    #expect(queue.put(refusal(2)))
    #expect(await [takers[0].value, takers[2].value].sorted() == ["1", "2"])
  }

  @Test("Closing a queue releases all waiting tasks") func aClosedQueueLetsEveryoneGo() async {
    let queue = AcceptQueue(limit: 1)
    let taking = Task { await take(from: queue) }
    for _ in 0..<100 { await Task.yield() }
    queue.close()
    #expect(await taking.value == "closed")
    #expect(!queue.put(refusal(1)))
    await queue.waitForRoom()
  }
}
