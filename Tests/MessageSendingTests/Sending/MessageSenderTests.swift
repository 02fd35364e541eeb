import DurableFiles
import Foundation
import Glibc
import Streams
import SystemTesting
import Testing

@testable import MessageSending

/// The sender with real files, a clock that the test moves, and a server in memory.
@Suite("The sender", .timeLimit(.minutes(5))) struct MessageSenderTests {
  @Test("A tick sends two messages, removes them from the queue, and records the run") func aTickSendsTwo() async throws
  {
    let place = try SenderPlace()
    let before = try place.queue.head()
    #expect(await place.sender().handle(.ticked) == .done)
    #expect(place.server.received.count == 2)
    #expect(place.server.received.first == before)
    #expect(try place.queue.head() != before)
    #expect(try place.record.lastRun == place.wall.withLock { $0 })
    #expect(try !place.record.isPending)
  }

  @Test("A failed post keeps the head, the flag and the last run, and the retry sends the same head")
  func aFailedPostKeepsTheHead() async throws {
    let place = try SenderPlace()
    place.server.answers.withLock { $0 = [false, false] }
    let sender = place.sender()
    #expect(await sender.handle(.ticked) == .failed)
    let attempts = place.server.attempts
    #expect(attempts.count == 2)
    #expect(Set(attempts).count == 1)
    #expect(try place.queue.head() == attempts[0])
    #expect(try place.record.isPending)
    #expect(try place.record.lastRun == nil)
    place.wall.withLock { $0 += 600_000 }
    #expect(await sender.handle(.ticked) == .done)
    #expect(place.server.received.first == attempts[0])
  }

  @Test("After one of two messages the retry sends the other one, and no more") func theRetrySendsTheRemainder()
    async throws
  {
    let place = try SenderPlace()
    place.server.answers.withLock { $0 = [true, false] }
    #expect(await place.sender().handle(.ticked) == .failed)
    place.wall.withLock { $0 += 600_000 }
    #expect(await place.sender().handle(.ticked) == .done)
    #expect(place.server.received.count == 2)
    #expect(Set(place.server.received).count == 2)
  }

  @Test("A message that is queued while a cover is sent is not lost") func aMessageQueuedDuringAPost() async throws {
    let place = try SenderPlace()
    let message = try place.covers.cover()
    place.server.whileSending.withLock { body in
      body = { [queue = place.queue, secret = place.secret] in _ = try queue.append(message, secret: secret) }
    }
    #expect(await place.sender().handle(.ticked) == .done)
    // The message is the head now, or was sent as the second one of the run.
    #expect(place.server.received.contains(message))
    #expect(try place.queue.fillLevel(secret: place.secret) == 0)
  }

  @Test("Without covers nothing is sent at all, not even a message that waits") func withoutCoversNothingIsSent()
    async throws
  {
    let place = try SenderPlace()
    _ = try place.queue.append(place.covers.cover(), secret: place.secret)
    place.covers.isBroken.withLock { $0 = true }
    #expect(await place.sender().handle(.ticked) == .withoutCovers)
    #expect(place.server.attempts.isEmpty)
    #expect(try place.record.lastRun == nil)
    place.covers.isBroken.withLock { $0 = false }
    #expect(await place.sender().handle(.ticked) == .done)
  }

  @Test("Two triggers at once, in two senders of one folder: one run, and the other is busy without side effects")
  func twoTriggersAtOnce() async throws {
    let place = try SenderPlace()
    place.server.isHeld.withLock { $0 = true }
    let first = place.sender()
    let second = place.sender()
    let run = Task { await first.handle(.ticked) }
    try await eventually { place.server.attempts.count == 1 }
    let record = try place.record
    #expect(await second.handle(.ticked) == .busy)
    #expect(await first.handle(.started) == .busy)
    #expect(try place.record == record)
    place.server.isHeld.withLock { $0 = false }
    #expect(await run.value == .done)
    #expect(place.server.attempts.count == 2)
  }

  @Test("A cancelled run is reported, and a restart sends its remainder") func aCancelledRun() async throws {
    let place = try SenderPlace()
    place.server.isHeld.withLock { $0 = true }
    let sender = place.sender()
    let run = Task { await sender.handle(.ticked) }
    try await eventually { place.server.attempts.count == 1 }
    run.cancel()
    #expect(await run.value == .cancelled)
    #expect(try place.record.isPending)
    place.server.isHeld.withLock { $0 = false }
    #expect(await place.sender().handle(.started) == .done)
    #expect(place.server.received.count == 2)
  }

  @Test("A full disk stops the run before anything is sent") func aFullDisk() async throws {
    let isFull = Lock(true)
    let place = try SenderPlace()
    let disk = Disk { step, path in
      isFull.withLock { $0 } && step == .write && path.contains("sending.state") ? ENOSPC : nil
    }
    let sender = place.sender(disk: disk)
    #expect(await sender.handle(.ticked) == .notStored)
    #expect(place.server.attempts.isEmpty)
    isFull.withLock { $0 = false }
    #expect(await sender.handle(.ticked) == .done)
  }

  @Test("A damaged record is set aside, and a run is owed") func aDamagedRecord() async throws {
    let place = try SenderPlace()
    try Data([1, 2, 3]).write(to: URL(filePath: place.folder + "/sending.state"))
    #expect(await place.sender().handle(.started) == .done)
    #expect(FileManager.default.fileExists(atPath: place.folder + "/sending.state.damaged"))
  }

  @Test("A timer program sets a damaged record aside with the lock, and sends what is owed")
  func aDamagedRecordOfATimer() async throws {
    let place = try SenderPlace()
    let path = place.folder + "/sending.state"
    try Data([1, 2, 3]).write(to: URL(filePath: path))
    let lock = try #require(try FileLock(path: place.folder + "/sending.lock"))
    #expect(try await place.sender().runIfDue() == .busy)
    #expect(try Data(contentsOf: URL(filePath: path)) == Data([1, 2, 3]))
    lock.release()
    #expect(try await place.sender().runIfDue() == .done)
    #expect(FileManager.default.fileExists(atPath: path + ".damaged"))
  }

  @Test("The first event of a timer program after a boot is a start, which makes up for a run that is owed")
  func theFirstEventAfterABoot() async throws {
    let place = try SenderPlace()
    #expect(try await place.sender().runIfDue() == nil)
    place.wall.withLock { $0 += 60_000 }
    #expect(try await place.sender().runIfDue() == nil)
    place.boot.withLock { $0 += 30_000 }
    #expect(try await place.sender().runIfDue() == .done)
    #expect(place.server.attempts.count == 2)
    #expect(try await place.sender().runIfDue() == nil)
  }

  @Test("The queue's file is new after every start, stop and tick, also after a skipped one") func theFileIsRewritten()
    async throws
  {
    let place = try SenderPlace()
    let sender = place.sender()
    var seen: Set<UInt64> = []
    // The inode of a file that still exists cannot be given to another one.
    var kept: [ReadableFile] = []
    for event in [.started, .ticked, .ticked, .stopping] as [SendingMachine.Event] {
      _ = await sender.handle(event)
      kept.append(try ReadableFile(place.queue.path, followsLinks: false))
      let attributes = try FileManager.default.attributesOfItem(atPath: place.queue.path)
      seen.insert(try #require(attributes[.systemFileNumber] as? UInt64))
    }
    #expect(seen.count == 4)
    withExtendedLifetime(kept) {}
  }

  @Test("The loop starts, ticks at the drawn instant, and stops when it is cancelled") func theLoop() async throws {
    let place = try SenderPlace()
    let sender = place.sender()
    let running = Task { await sender.run() }
    // Half of the distribution lies below 415 s; the failsafe adds 600 s.
    await place.clock.advance(toSleeperAt: .seconds(1015))
    await place.clock.waitForSleeper(until: .seconds(1015 + 415))
    try await eventually { place.server.received.count == 2 }
    running.cancel()
    await running.value
    #expect(try place.record.isPending)
    #expect(place.outcomes.withLock { $0 } == [.done])
  }

  @Test("A timer program does what is due, and nothing before") func theTimerProgram() async throws {
    let place = try SenderPlace()
    #expect(try await place.sender().runIfDue() == nil)
    #expect(try await place.sender().runIfDue() == nil)
    #expect(place.server.attempts.isEmpty)
    place.wall.withLock { $0 += 1_015_000 }
    #expect(try await place.sender().runIfDue() == .done)
    #expect(try await place.sender().runIfDue() == nil)
  }
}
