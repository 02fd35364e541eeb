import DurableFiles
import Glibc
import Streams
import Testing

@testable import MessageSending

/// A sender that stops at each step on the disk, as in a crash, while a message is queued.
@Suite("Crashes of the sender", .timeLimit(.minutes(5))) struct SenderCrashTests {
  /// A disk that refuses everything from a step on.
  private final class StoppingDisk: Sendable {
    private let left: Lock<Int?> = Lock(nil)
    private let isReached = Lock(false)

    var disk: Disk {
      Disk { [self] _, _ in
        let isStopped = left.withLock { left in
          guard let steps = left else { return false }
          left = max(steps - 1, 0)
          return steps == 0
        }
        if isStopped { isReached.withLock { $0 = true } }
        return isStopped ? EIO : nil
      }
    }

    func stop(after steps: Int) { left.withLock { $0 = steps } }
    var hasStopped: Bool { isReached.withLock { $0 } }
  }

  @Test("A crash at any step loses no message, and a message counts as sent only when the server has it")
  func aCrashAtAnyStep() async throws {
    var steps = 0
    while true {
      let stopping = StoppingDisk()
      let place = try SenderPlace(disk: stopping.disk)
      let first = try place.covers.cover()
      let second = try place.covers.cover()
      var hints = [try place.queue.append(first, secret: place.secret)]
      // Another process queues a second message while the first one is on its way.
      let other = try SendingQueue.open(path: place.queue.path, covers: place.covers) { _ in }
      place.server.whileSending.withLock { body in
        body = { [secret = place.secret] in _ = try other.append(second, secret: secret) }
      }
      stopping.stop(after: steps)
      _ = await place.sender().handle(.ticked)

      let queue = try SendingQueue.open(path: place.queue.path, covers: place.covers) { Issue.record("\($0)") }
      let sent = place.server.received
      let isWaiting = try queue.contains(hints[0])
      #expect(isWaiting || sent.contains(first), "step \(steps)")
      hints = try queue.hints(secret: place.secret)
      if !place.server.attempts.isEmpty, !sent.contains(second) { #expect(!hints.isEmpty, "step \(steps)") }
      let sender = place.sender(queue, disk: Disk())
      for _ in 0..<5 {
        place.wall.withLock { $0 += 20_000_000 }
        _ = await sender.handle(.ticked)
      }
      #expect(place.server.received.contains(first), "step \(steps)")
      if !place.server.attempts.isEmpty, steps > 0 {
        #expect(place.server.received.contains(second), "step \(steps)")
      }
      #expect(place.server.received.count { $0 == first } <= 2)
      guard stopping.hasStopped else { break }
      steps += 1
    }
    #expect(steps > 15)
  }
}
