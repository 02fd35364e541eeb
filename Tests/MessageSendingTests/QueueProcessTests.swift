import Foundation
import Streams
import SystemTesting
import Testing

@testable import MessageSending

@Suite("A queue between processes", .timeLimit(.minutes(30)))
struct QueueProcessTests {
  let fixture: QueueFixture
  init() throws { fixture = try QueueFixture() }

  @Test("Two writers and a sender at once lose, double and mix nothing")
  func concurrent() async throws {
    let path = fixture.queue.path
    async let one = QueueProcess.run(path, ["write", "0", "12"])
    async let two = QueueProcess.run(path, ["write", "1000", "12"])
    let areWritten = Lock(false)
    async let senders = Self.send(from: path, until: areWritten)
    let writers = try await [one, two]
    areWritten.withLock { $0 = true }
    #expect(try await (writers + senders).flatMap(\.others).isEmpty)
    var sent = try await senders.flatMap(\.sent)
    for _ in 0..<(try fixture.queue.fillLevel(secret: fixture.right)) {
      sent.append(QueueProcess.name(try fixture.dequeue()))
    }
    for first in [0, 1000] {
      let names = try (first..<first + 12).map { QueueProcess.name(try QueueProcess.message($0)) }
      #expect(sent.filter(names.contains) == names, "each once, in order")
    }
  }

  /// Sends as long as there are writers, who would wait in vain before a full queue.
  private static func send(from path: String, until areWritten: Lock<Bool>) async throws -> [QueueProcess.Outcome] {
    var outcomes: [QueueProcess.Outcome] = []
    while !areWritten.withLock({ $0 }), !Task.isCancelled {
      outcomes.append(try await QueueProcess.run(path, ["send", "10"]))
    }
    return outcomes
  }

  private static let calls = ["flock", "unlinkat", "write", "fdatasync", "renameat", "fsync"]

  /// `EDGEBLUE_KILLS=1000` kills so often.
  @Test(
    "Kills at system calls of a writer and of a sender lose no message, and the file is always valid",
    .enabled(if: SystemCallKill.isPossible, "needs strace, and leave to trace"))
  func kills() async throws {
    let kills = Int(ProcessInfo.processInfo.environment["EDGEBLUE_KILLS"] ?? "") ?? 14
    let path = fixture.queue.path
    var hints: [Int: MessageHint] = [:]
    var received: Set<String> = []
    var done = 0
    var round = 0
    while done < kills {
      defer { round += 1 }
      let kill = SystemCallKill(
        at: Self.calls[round % Self.calls.count], number: 1 + round / Self.calls.count % 10)
      let isWriter = round.isMultiple(of: 2)
      let first = round * 4
      async let writer = QueueProcess.run(path, ["write", "\(first)", "4"], isWriter ? kill : nil)
      async let sender = QueueProcess.run(path, ["send", "6"], isWriter ? nil : kill)
      let (wrote, sent) = try await (writer, sender)
      done += [wrote, sent].count(where: \.wasKilled)
      #expect(wrote.others + sent.others == [], "round \(round)")
      received.formUnion(sent.sent)
      for number in wrote.queued {
        hints[number] = MessageHint(of: try QueueProcess.message(number), secret: fixture.right)
      }
      for (number, hint) in hints where !received.contains(QueueProcess.name(try QueueProcess.message(number))) {
        #expect(try fixture.queue.contains(hint), "message \(number) is gone and was not sent, round \(round)")
      }
      try #require(round < 40 + 12 * kills, "hardly a kill arrives: \(done)")
    }
    _ = try fixture.reopened()
    #expect(fixture.problems.all.isEmpty)
    #expect(try fixture.folder.names == ["queue", "queue.lock", "queue.taken"])
    #expect(hints.count > kills / 2, "hardly a message was written")
  }
}
