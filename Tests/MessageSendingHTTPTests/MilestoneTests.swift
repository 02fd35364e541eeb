import DeterministicTesting
import Foundation
import Logging
import MessageSending
import Streams
import Testing
import Timing

@testable import MessageSendingHTTP

/// The whole way on one host: a message is written, sent among covers, collected and opened.
@Suite("Messages from end to end", .timeLimit(.minutes(5))) struct MilestoneTests {
  private static let start: Int64 = 1_790_000_000_000

  @Test("A written message leaves in one of two posts an hour, and only the recipient can tell it from the covers")
  func aMessageArrivesAmongCovers() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-milestone-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let node = try BoxSecretKey()
    let desk = try BoxSecretKey()
    let keys = try RecipientKeys(
      nodes: [node.publicKey, try BoxSecretKey().publicKey], recipients: [.init(id: "desk", key: desk.publicKey)],
      issuedMs: Self.start, expiresMs: Self.start + 86_400_000)
    let covers = KeyedCovers(keys: keys) { Self.start }
    let queue = try SendingQueue.open(path: folder + "/queue", covers: covers) { Issue.record("\($0)") }
    let secret = try SecretBytes(randomCount: SendingQueue.secretByteCount)
    let message = try MessageSealer(keys: keys).message("Grüße", to: "desk", from: try BoxSecretKey().publicKey)
    let hint = try queue.append(message, secret: secret)

    let segments = try MessageSegments(folder: folder + "/collected")
    let (ports, source) = BoundedStream.make(of: Int.self, limit: 1)
    let collector = MessageCollector(segments, options: .init(port: 0), logger: Logger(label: "test")) {
      source.yield($0)
    }
    let collecting = Task { try await collector.run() }
    var port = ports.makeAsyncIterator()
    let transport = try HTTPMessageTransport("http://127.0.0.1:\(try #require(await port.next()))")
    let clock = ManualClock()
    let sender = MessageSender(
      folder: folder, queue, covers: covers, transport: transport, options: Self.options(clock))
    let stored = await Self.send(by: sender, clock) { collector.counts.stored }
    #expect(stored == [Int](repeating: 2, count: 9) + [Int](repeating: 4, count: 9) + [6, 6])
    #expect(try !queue.contains(hint))
    collecting.cancel()
    try await collecting.value
    #expect(
      try Self.opened(folder + "/collected", with: MessageOpener(node: node, recipients: ["desk": desk])) == ["Grüße"])
    try FileManager.default.removeItem(atPath: folder)
  }

  private static func options(_ clock: ManualClock) -> MessageSender.Options {
    var options = MessageSender.Options()
    options.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    options.clock = SendingClock(
      time: TimeSource(clock), wall: { start + clock.now.offset.milliseconds(rounded: .towardZero) }, random: { 0.5 })
    return options
  }

  /// Runs a sender for 20 ticks, and returns a number after each of them.
  private static func send(by sender: MessageSender, _ clock: ManualClock, _ number: () -> Int) async -> [Int] {
    let sending = Task { await sender.run() }
    var numbers: [Int] = []
    // The failsafe after 1015 s, then a tick every 415 s: runs at 1015 s, 4750 s and 8485 s.
    for tick in 0..<20 {
      await clock.advance(toSleeperAt: .seconds(1015 + 415 * tick))
      await clock.waitForSleeper(until: .seconds(1015 + 415 * (tick + 1)))
      numbers.append(number())
    }
    sending.cancel()
    await sending.value
    return numbers
  }

  /// Returns the texts, after checking that everything else is a cover.
  private static func opened(_ folder: String, with opener: MessageOpener) throws -> [String] {
    var texts: [String] = []
    for path in try MessageSegments.paths(in: folder) {
      try MessageSegments.read(path) { sealed in
        switch try opener.open(sealed) {
        case .cover: break
        case .message(let received): texts.append(received.text)
        case .otherRecipient(let tag): Issue.record("a message for \(tag)")
        }
      }
    }
    return texts
  }
}
