import DurableFiles
import Foundation
import Testing

@testable import MessageSending

/// A head that was taken to be sent keeps its place, so that nobody sees whether it was a cover.
@Suite("The head of a queue, once taken")
struct QueueHeadTests {
  let fixture: QueueFixture
  var queue: SendingQueue { fixture.queue }
  init() throws { fixture = try QueueFixture() }

  @Test("A message that is queued after the head was taken waits behind it, and the next ones behind that")
  func messagesWaitBehindTheHead() throws {
    let cover = try queue.takeHead()
    let first = try queue.append(message("message 1"), secret: fixture.right)
    let second = try fixture.reopened().append(message("message 2"), secret: fixture.right)
    #expect(try queue.takeHead() == cover)
    #expect(try queue.hints(secret: fixture.right) == [first, second])
    #expect(try queue.fillLevel(secret: fixture.right) == 2)
    #expect(try queue.removeHead(ifEqualTo: cover, appending: RandomCovers().cover()))
    #expect(try fixture.dequeue() == message("message 1"))
    #expect(try fixture.dequeue() == message("message 2"))
  }

  @Test("A taken cover takes one place of the eight, and gives it back when it was sent")
  func aTakenCoverNeedsAPlace() throws {
    let cover = try queue.takeHead()
    for number in 1..<SendingQueue.capacity {
      _ = try queue.append(message("message \(number)"), secret: fixture.right)
    }
    let error = #expect(throws: MessageSendingError.self) { try queue.append(message("one"), secret: fixture.right) }
    #expect(error?.code == .queueIsFull)
    #expect(try queue.removeHead(ifEqualTo: cover, appending: RandomCovers().cover()))
    _ = try queue.append(message("message 8"), secret: fixture.right)
    #expect(try queue.fillLevel(secret: fixture.right) == SendingQueue.capacity)
  }

  @Test("A head that nobody has taken is replaced, also after the one before it was taken and sent")
  func anUntakenHeadIsReplaced() throws {
    let cover = try queue.takeHead()
    #expect(try queue.removeHead(ifEqualTo: cover, appending: RandomCovers().cover()))
    _ = try queue.append(message("message 1"), secret: fixture.right)
    #expect(try queue.takeHead() == message("message 1"))
    _ = try queue.append(message("message 2"), secret: fixture.wrong)
    #expect(try queue.takeHead() == message("message 1"), "a message of another secret keeps its place, too")
  }

  @Test("A damaged or missing note of the head counts as none, and never as a fault of the queue")
  func aDamagedNote() throws {
    _ = try queue.takeHead()
    for bytes in [[], [7], [UInt8](repeating: 7, count: 100)] as [[UInt8]] {
      try fixture.folder.write(bytes, "queue.taken")
      _ = try queue.append(message("message"), secret: fixture.right)
    }
    #expect(try queue.takeHead() == message("message"))
    #expect(try fixture.folder.bytes("queue.taken") == Sodium.sha256(message("message").bytes))
  }

  @Test("A head that cannot be noted is not handed out", arguments: [DiskStep.write, .sync, .rename])
  func aFullDisk(step: DiskStep) throws {
    let disk = Disk { $0 == step && $1.contains("queue.taken") ? ENOSPC : nil }
    let full = try SendingQueue.open(
      path: queue.path, covers: RandomCovers(), disk: disk, onProblem: fixture.problems.report)
    let error = #expect(throws: MessageSendingError.self) { try full.takeHead() }
    #expect(error?.code == .storage)
  }

  @Test("The vault is written anew with the queue, so that its times show the sender's ticks")
  func theVaultIsWrittenWithTheQueue() throws {
    let vault = Vault(path: fixture.folder.path + "/vault")
    let source = VaultedQueue(queue, vault)
    try source.rewrite()
    func inodes() throws -> [UInt64?] {
      try ["queue", "vault"].map {
        try FileManager.default.attributesOfItem(atPath: "\(fixture.folder.path)/\($0)")[.systemFileNumber] as? UInt64
      }
    }
    let before = try (inodes(), fixture.folder.bytes("vault"))
    try source.rewrite()
    let after = try (inodes(), fixture.folder.bytes("vault"))
    #expect(zip(before.0, after.0).allSatisfy { $0 != $1 })
    #expect(before.1 == after.1)
  }
}
