import DeterministicTesting
import Foundation
import Logging
import Streams
import Timing

@testable import MessageSending

/// What an observer of the network sees of a sender whose server refuses some attempts.
struct ObservedLife {
  /// A fault that a sender may have, which tells its observer whether its user writes.
  enum Leak: CaseIterable {
    case flushAfterWriting, freshCoverForRetry, longerBody
  }

  /// The seconds between an attempt and the one before.
  var intervals: [Double] = []
  /// The bytes of each body.
  var sizes: [Double] = []
  /// For each attempt after a refused one: 1 if it shows the same bytes, else 0.
  var repeats: [Double] = []

  /// Returns the smallest probability with which one of the three would differ as much by chance.
  static func probability(_ one: ObservedLife, _ other: ObservedLife) -> Double {
    [
      TwoSamples.probability(one.intervals, other.intervals), TwoSamples.probability(one.sizes, other.sizes),
      TwoSamples.probability(one.repeats, other.repeats),
    ].min() ?? 0
  }

  /// Lets a sender with real files live for a number of completed runs, on clocks that jump from event to event.
  /// - Parameter writes: Whether its user writes a message every hour, on average.
  static func of(runs: Int, seed: UInt64, writes: Bool, leak: Leak? = nil) async throws -> ObservedLife {
    let random = Lock(SeededGenerator(seed: seed))
    let draw: @Sendable () -> Double = { random.withLock { .random(in: 0..<1, using: &$0) } }
    let place = try SenderPlace()
    let server = ObservingServer(place, draw: draw, hasLongerBodies: leak == .longerBody)
    var options = MessageSender.Options()
    options.clock = SendingClock(
      time: TimeSource(place.clock), wall: { place.wall.withLock { $0 } }, random: draw)
    options.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let sender = MessageSender(
      folder: place.folder, place.queue, covers: place.covers, transport: server, options: options)
    await sender.handle(.started)
    var completed = 0
    // In whole milliseconds, as the wall clock: an instant that is rounded twice would tell the two lives apart.
    let untilNext: @Sendable () -> Int64 = { Int64(-log(1 - draw()) * 3_600_000) }
    var untilWriting = untilNext()
    while completed < runs {
      var wait = await sender.delay?.milliseconds(rounded: .up) ?? 0
      while writes, untilWriting < wait {
        wait -= untilWriting
        place.wall.withLock { $0 += untilWriting }
        untilWriting = untilNext()
        guard try place.queue.fillLevel(secret: place.secret) < 6 else { continue }
        _ = try place.queue.append(place.covers.cover(), secret: place.secret)
        if leak == .flushAfterWriting { try await server.flush() }
      }
      untilWriting -= wait
      place.wall.withLock { $0 += wait }
      if await sender.handle(.ticked) == .done { completed += 1 }
      if leak == .freshCoverForRetry, try place.queue.fillLevel(secret: place.secret) == 0 {
        try place.queue.removeHead(ifEqualTo: place.queue.head(), appending: place.covers.cover())
      }
    }
    return server.life.withLock { $0 }
  }
}

/// A server that refuses every fifth attempt or so, and keeps what an observer of its network would.
private final class ObservingServer: MessageTransport {
  let life = Lock(ObservedLife())
  private let place: SenderPlace
  private let draw: @Sendable () -> Double
  private let hasLongerBodies: Bool
  private let last = Lock<(instant: Int64, message: SealedMessage, isRefused: Bool)?>(nil)

  init(_ place: SenderPlace, draw: @escaping @Sendable () -> Double, hasLongerBodies: Bool) {
    self.place = place
    self.draw = draw
    self.hasLongerBodies = hasLongerBodies
  }

  func send(_ message: SealedMessage) async throws {
    let isLonger = try hasLongerBodies && place.queue.fillLevel(secret: place.secret) > 0
    let now = place.wall.withLock { $0 }
    let isRefused = draw() < 0.2
    life.withLock { life in
      life.sizes.append(Double(MessageBody.encode(message).count + (isLonger ? 1 : 0)))
      guard let last = last.withLock({ $0 }) else { return }
      life.intervals.append(Double(now - last.instant) / 1000)
      if last.isRefused { life.repeats.append(last.message == message ? 1 : 0) }
    }
    last.withLock { $0 = (now, message, isRefused) }
    if isRefused { throw MessageSendingError(.notSent, "refused") }
  }

  /// Sends the head at once, as a program with this fault would after its user has written.
  func flush() async throws {
    let head = try place.queue.takeHead()
    do { try await send(head) } catch { return }
    try place.queue.removeHead(ifEqualTo: head, appending: place.covers.cover())
  }
}
