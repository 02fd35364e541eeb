import DeterministicTesting
import DurableFiles
import Foundation
import Logging
import Streams
import Timing

@testable import MessageSending

/// A folder with a queue, a server in memory and clocks that a test moves.
final class SenderPlace: Sendable {
  let folder: String
  let covers = FreshCovers()
  let queue: SendingQueue
  let secret: SecretBytes
  let server = MemoryServer()
  private let disk: Disk
  let clock = ManualClock()
  let wall = Lock<Int64>(1_790_000_000_000)
  let boot = Lock<Int64>(1_790_000_000_000)
  let outcomes = Lock<[SendingOutcome]>([])

  /// Creates a place with a queue on a disk whose steps a test sees, or makes fail.
  init(disk: Disk = Disk()) throws {
    self.disk = disk
    // In memory where that is possible: thousands of ticks write to disk durably.
    let memory = "/dev/shm"
    let base =
      FileManager.default.isWritableFile(atPath: memory) ? memory : FileManager.default.temporaryDirectory.path
    folder = base + "/edgeblue-sender-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    secret = try SecretBytes(randomCount: SendingQueue.secretByteCount)
    queue = try SendingQueue.open(path: folder + "/queue", covers: covers, disk: disk) { _ in }
  }

  deinit {
    // The folder of a failed test is removed with those of the others.
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Returns a sender of the queue, or of the one that a restarted program has opened.
  func sender(
    _ other: SendingQueue? = nil, disk otherDisk: Disk? = nil,
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  ) -> MessageSender {
    var options = options
    options.disk = otherDisk ?? disk
    options.logger = logger
    return MessageSender(folder: folder, other ?? queue, covers: covers, transport: server, options: options) {
      [outcomes] outcome in
      outcomes.withLock { $0.append(outcome) }
    }
  }

  /// The clocks of this place, and draws from the middle.
  var options: MessageSender.Options {
    var options = MessageSender.Options()
    options.clock = SendingClock(time: TimeSource(clock), wall: { [wall] in wall.withLock { $0 } }, random: { 0.5 })
    options.clock.boot = { [boot] in boot.withLock { $0 } }
    options.disk = disk
    options.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    return options
  }

  var record: SendingRecord {
    get throws { try SendingRecord.read(folder: folder) ?? SendingRecord() }
  }
}

/// Covers of random bytes, which are enough where nobody opens them.
final class FreshCovers: CoverSource {
  let isBroken = Lock(false)

  func cover() throws(MessageSendingError) -> SealedMessage {
    if isBroken.withLock({ $0 }) { throw MessageSendingError(.expiredKeys, "the keys have expired") }
    return try SealedMessage(bytes: try Sodium.random(SealedMessage.byteCount))
  }
}

/// A server that keeps what it accepts.
final class MemoryServer: MessageTransport {
  private let messages = Lock<(attempts: [SealedMessage], received: [SealedMessage])>(([], []))
  /// The results of the attempts to come; attempts beyond them succeed.
  let answers = Lock<[Bool]>([])
  /// A Boolean value that keeps attempts waiting.
  let isHeld = Lock(false)
  /// Runs once, during the next attempt.
  let whileSending = Lock<(@Sendable () throws -> Void)?>(nil)

  var attempts: [SealedMessage] { messages.withLock { $0.attempts } }
  var received: [SealedMessage] { messages.withLock { $0.received } }

  func send(_ message: SealedMessage) async throws {
    messages.withLock { $0.attempts.append(message) }
    while isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1), clock: .steady) }
    let during = whileSending.withLock { body in
      defer { body = nil }
      return body
    }
    try during?()
    let isAccepted = answers.withLock { $0.isEmpty ? true : $0.removeFirst() }
    guard isAccepted else { throw MessageSendingError(.notSent, "refused") }
    messages.withLock { $0.received.append(message) }
  }
}
