import DeterministicTesting
import DurableFiles
import Foundation
import Glibc
import Logging
import Streams
import SystemTesting
import Testing
import Timing

@testable import MessageSending

/// A sender and a relay over a channel in memory, with real files.
@Suite("A relay", .timeLimit(.minutes(5))) struct RelayTests {
  let folder: TestFolder
  init() throws { folder = try TestFolder() }

  private func queue(_ limit: Int = 512, disk: Disk = Disk()) throws -> RelayQueue {
    try RelayQueue(folder: folder.path + "/relay", limit: limit, covers: RandomCovers(), disk: disk)
  }

  @Test("Every packet has one size, and anything else is refused as no message") func packets() throws {
    #expect(try RelayPacket.encode(message("a")).count == 774)
    #expect(try RelayPacket.decode(RelayPacket.encode(message("a"))) == message("a"))
    for count in [0, 1, 773, 775, 2000] {
      let error = #expect(throws: MessageSendingError.self) {
        try RelayPacket.decode([UInt8](repeating: 1, count: count))
      }
      #expect(error?.code == .invalidArgument)
    }
    #expect(throws: MessageSendingError.self) { try RelayPacket.decode([2] + message("a").bytes) }
    for answer in RelayAnswer.allCases { #expect(RelayAnswer(bytes: answer.bytes) == answer) }
    for bytes in [[], [1], [1, 3], [2, 0], [1, 0, 0]] as [[UInt8]] { #expect(RelayAnswer(bytes: bytes) == nil) }
  }

  @Test("A run hands the relay two messages of its queue, which are on the relay's disk before they leave the queue")
  func aRunHandsOverTwo() async throws {
    let place = try SenderPlace()
    let text = try message("message")
    _ = try place.queue.append(text, secret: place.secret)
    let relay = try MemoryRelay(queue())
    let sender = MessageSender(
      folder: place.folder, place.queue, covers: place.covers, transport: relay.transport, options: place.options)
    #expect(await sender.handle(.ticked) == .done)
    // The relay's end of a channel may still be closing when the sender has its answer.
    try await eventually { relay.packets.withLock { $0.map(\.count) } == [774, 774] }
    #expect(try place.queue.fillLevel(secret: place.secret) == 0)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/relay")
    #expect(files.count { $0.hasSuffix(".box") } == 2)
  }

  @Test("What the relay cannot store it refuses, and the sender keeps", arguments: [DiskStep.write, .sync, .rename])
  func aBrokenDisk(step: DiskStep) async throws {
    let isBroken = Lock(true)
    let disk = Disk { $0 == step && $1.contains("/relay") && isBroken.withLock { $0 } ? EIO : nil }
    let relay = try MemoryRelay(queue(disk: disk))
    let error = await #expect(throws: MessageSendingError.self) { try await relay.transport.send(message("a")) }
    #expect(error?.code == .notSent)
    isBroken.withLock { $0 = false }
    try await relay.transport.send(message("a"))
    try await eventually { relay.answers.withLock { $0 } == [.refused, .stored] }
  }

  @Test("An answer that is lost makes the sender send again, and the relay keeps one") func aLostAnswer() async throws {
    let queue = try queue()
    let relay = MemoryRelay(queue)
    relay.losesAnswers.withLock { $0 = true }
    await #expect(throws: MessageSendingError.self) { try await relay.transport.send(message("a")) }
    try await eventually { queue.count == 1 }
    relay.losesAnswers.withLock { $0 = false }
    try await relay.transport.send(message("a"))
    #expect(queue.count == 1)
  }

  @Test("A relay that cannot be reached, talks nonsense or closes at once is an error, and a cancelled task ends")
  func brokenRelays() async throws {
    let unreachable = RelayTransport { throw SystemCallError("connect") }
    for transport in [unreachable, Self.answering([9, 9, 9]), Self.answering(nil), Self.answering([1, 2])] {
      let error = await #expect(throws: MessageSendingError.self) { try await transport.send(message("a")) }
      #expect(error?.code == .notSent)
    }
    let silent = RelayTransport { MemoryChannel.pair().sender }
    let task = Task { try await silent.send(message("a")) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  private static func answering(_ bytes: [UInt8]?) -> RelayTransport {
    RelayTransport {
      let (sender, relay) = MemoryChannel.pair()
      if let bytes { try await relay.send(bytes) }
      await relay.close()
      return sender
    }
  }

  @Test("The relay passes on the same number by its own schedule, whatever was brought") func itsOwnSchedule()
    async throws
  {
    var counts: [[Int]] = []
    for brought in [0, 1, 5] {
      let place = try SenderPlace()
      let queue = try RelayQueue(folder: place.folder + "/relay", covers: place.covers)
      for number in 0..<brought { try queue.append(message("message \(number)")) }
      var options = place.options
      options.policy.messagesPerRun = 3
      let sender = MessageSender(
        folder: place.folder, queue, covers: place.covers, transport: place.server, options: options)
      var posts: [Int] = []
      for _ in 0..<4 {
        place.wall.withLock { $0 += 3_600_000 }
        _ = await sender.handle(.ticked)
        posts.append(place.server.received.count)
      }
      counts.append(posts)
      #expect(Set(place.server.received).count == 12)
      for number in 0..<brought { #expect(try place.server.received.contains(message("message \(number)"))) }
    }
    #expect(counts == [[3, 6, 9, 12], [3, 6, 9, 12], [3, 6, 9, 12]])
  }

  /// What the relay's network sees of one body.
  private struct Sight: Equatable {
    var wallMs: Int64
    var bytes: Int
  }

  /// A server that refuses every fourth attempt.
  private final class RefusingServer: MessageTransport {
    let sights = Lock<[Sight]>([])
    private let wall: @Sendable () -> Int64
    init(wall: @escaping @Sendable () -> Int64) { self.wall = wall }

    func send(_ message: SealedMessage) async throws {
      let count = sights.withLock { sights in
        sights.append(Sight(wallMs: wall(), bytes: MessageBody.encode(message).count))
        return sights.count
      }
      guard count % 4 != 0 else { throw MessageSendingError(.notSent, "refused") }
    }
  }

  /// Returns what a relay's network sees while a number of messages is brought before each of its ticks.
  private func sights(bringing count: Int, runs: Int) async throws -> [Sight] {
    let place = try SenderPlace()
    let queue = try RelayQueue(folder: place.folder + "/relay", covers: place.covers)
    let relay = MessageRelay(queue, time: TimeSource(place.clock))
    let server = RefusingServer { place.wall.withLock { $0 } }
    let random = Lock(SeededGenerator(seed: 7))
    var options = place.options
    options.policy.messagesPerRun = 3
    options.clock = SendingClock(
      time: TimeSource(place.clock), wall: { place.wall.withLock { $0 } },
      random: { random.withLock { .random(in: 0..<1, using: &$0) } })
    let sender = MessageSender(
      folder: place.folder, queue, covers: place.covers, transport: server, options: options)
    await sender.handle(.started)
    var done = 0
    while done < runs {
      for number in 0..<count {
        let (near, far) = MemoryChannel.pair()
        try await near.send(RelayPacket.encode(place.covers.cover()))
        await relay.answer(far, of: "device \(number)")
      }
      let delay = await sender.delay
      place.wall.withLock { $0 += delay?.milliseconds(rounded: .up) ?? 0 }
      place.clock.advance(by: MessageRelay.interval)
      if await sender.handle(.ticked) == .done { done += 1 }
    }
    #expect(queue.count >= count)
    return server.sights.withLock { $0 }
  }

  @Test("The relay sends at the same instants and bodies of the same size, whatever is brought and while it is")
  func theSameInstants() async throws {
    let quiet = try await sights(bringing: 0, runs: 30)
    #expect(quiet.count > 90)
    #expect(Set(quiet.map(\.wallMs)).count > 30)
    #expect(Set(quiet.map(\.bytes)).count == 1)
    for brought in [1, 6] { #expect(try await sights(bringing: brought, runs: 30) == quiet, "\(brought) messages") }
  }

  @Test("A peer that sends too fast or says nothing is bounded, and others are served") func limits() async throws {
    let clock = ManualClock()
    let relay = MessageRelay(try queue(), time: TimeSource(clock))
    func bring(_ number: Int, of peer: String) async throws -> RelayAnswer? {
      let (sender, far) = MemoryChannel.pair()
      try await sender.send(RelayPacket.encode(message("message \(number)")))
      return await relay.answer(far, of: peer)
    }
    for number in 0..<MessageRelay.burst { #expect(try await bring(number, of: "one") == .stored) }
    #expect(try await bring(100, of: "one") == .refused)
    #expect(try await bring(100, of: "other") == .stored)
    clock.advance(by: MessageRelay.interval)
    #expect(try await bring(101, of: "one") == .stored)
    #expect(try await bring(102, of: "one") == .refused)
    let (sender, far) = MemoryChannel.pair()
    let waiting = Task { await relay.answer(far, of: "silent") }
    await clock.waitForSleeper(until: MessageRelay.interval + MessageRelay.patience)
    clock.advance(by: MessageRelay.patience)
    #expect(await waiting.value == nil)
    #expect(try await sender.receive() == nil, "its channel is closed")
  }
}
