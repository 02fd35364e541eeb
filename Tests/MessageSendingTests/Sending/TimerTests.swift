import DeterministicTesting
import Foundation
import Streams
import Testing
import Timing

@testable import MessageSending

/// A sender that a timer starts again and again, compared with one that stays.
@Suite("A sender that a timer starts", .timeLimit(.minutes(5))) struct TimerTests {
  /// A sender on a clock that a test moves, whose wall clock goes with it, and the instants of its posts.
  private final class Timed: Sendable {
    let place: SenderPlace
    let posts = Lock<[Int64]>([])
    private let random = Lock(SeededGenerator(seed: 11))
    private static let start: Int64 = 1_790_000_000_000

    init() throws { place = try SenderPlace() }

    var now: Int64 { Self.start + place.clock.now.offset.milliseconds(rounded: .towardZero) }

    /// A sender, as each start of the program makes one.
    func sender() -> MessageSender {
      var options = place.options
      options.clock = SendingClock(
        time: TimeSource(place.clock), wall: { [self] in now },
        random: { [random] in random.withLock { .random(in: 0..<1, using: &$0) } })
      options.clock.boot = { Self.start }
      return MessageSender(
        folder: place.folder, place.queue, covers: place.covers, transport: Clocked(timed: self), options: options)
    }
  }

  private struct Clocked: MessageTransport {
    let timed: Timed
    func send(_ message: SealedMessage) async throws { timed.posts.withLock { $0.append(timed.now) } }
  }

  @Test("Started every 50 s to look a minute ahead, it sends at the instants of a sender that stays")
  func theSameInstants() async throws {
    let hours: Int64 = 24
    let resident = try Timed()
    let sender = resident.sender()
    await sender.handle(.started)
    let end = resident.now + hours * 3_600_000
    while resident.now < end {
      resident.place.clock.advance(by: try #require(await sender.delay))
      await sender.handle(.ticked)
    }
    let timer = try Timed()
    let last = try #require(resident.posts.withLock { $0.last })
    while timer.now <= last {
      let due = try timer.place.record.due.map { $0 - timer.now }
      let started = Task { try await timer.sender().runIfDue(within: .seconds(60)) }
      if let due, (1...60_000).contains(due) {
        await timer.place.clock.advance(toSleeperAt: timer.place.clock.now.offset + .milliseconds(due))
      }
      _ = try await started.value
      timer.place.clock.advance(by: .seconds(50))
    }
    let (one, other) = (resident.posts.withLock { $0 }, timer.posts.withLock { $0 })
    #expect(one.count > 30)
    #expect(one == Array(other.prefix(one.count)))
  }

  @Test("What is due later than the minute is left to the next start, and a cancelled wait changes nothing")
  func whatIsDueLater() async throws {
    let timed = try Timed()
    _ = try await timed.sender().runIfDue(within: .seconds(60))
    let record = try timed.place.record
    #expect(try await timed.sender().runIfDue(within: .seconds(60)) == nil)
    let due = try #require(record.due) - timed.now
    timed.place.clock.advance(by: .milliseconds(due - 30_000))
    let waiting = Task { try await timed.sender().runIfDue(within: .seconds(60)) }
    await timed.place.clock.waitForSleeper(until: timed.place.clock.now.offset + .seconds(30))
    waiting.cancel()
    #expect(try await waiting.value == nil)
    #expect(try timed.place.record == record)
    #expect(timed.posts.withLock { $0.isEmpty })
  }
}
