import DurableFiles
import Foundation
import Streams
import Testing

@testable import MessageSending

@Suite("A queue on a disk with faults")
struct QueueFaultTests {
  let fixture: QueueFixture
  init() throws { fixture = try QueueFixture() }

  private func broken(_ fault: @escaping @Sendable (DiskStep, String) -> Int32?) throws -> SendingQueue {
    let isOpen = Lock(false)
    let queue = try SendingQueue.open(
      path: fixture.queue.path, covers: RandomCovers(),
      disk: Disk { step, path in isOpen.withLock { $0 } ? fault(step, path) : nil }, onProblem: fixture.problems.report)
    isOpen.withLock { $0 = true }
    return queue
  }

  @Test(
    "A disk that is full at a step leaves the queue as it was or as it was to be",
    arguments: [DiskStep.remove, .open, .write, .sync, .rename], [ENOSPC, EIO])
  func everyStep(step: DiskStep, number: Int32) throws {
    let hint = try fixture.queue.append(message("message 1"), secret: fixture.right)
    let queue = try broken { failing, _ in failing == step ? number : nil }
    let written = #expect(throws: MessageSendingError.self) {
      try queue.append(message("message 2"), secret: fixture.right)
    }
    #expect(written?.errno == number)
    #expect(try fixture.queue.hints(secret: fixture.right).first == hint)
    #expect(throws: MessageSendingError.self) {
      try queue.removeHead(ifEqualTo: message("message 1"), appending: RandomCovers().cover())
    }
    #expect(throws: MessageSendingError.self) { try queue.rewrite() }
    #expect(try fixture.queue.fillLevel(secret: fixture.right) >= 1, "what was sent may be sent once more")
    #expect(try fixture.folder.bytes("queue").count == 6352)
    #expect(fixture.problems.all.isEmpty)
    _ = try fixture.reopened()
    #expect(try fixture.folder.names == ["queue", "queue.lock"], "what was left over is removed")
  }

  @Test("A sync of the folder that fails is reported, and the new file is there")
  func folderSync() throws {
    let folder = fixture.folder.path
    let queue = try broken { step, path in step == .sync && path.hasPrefix(folder) && path.hasSuffix("/") ? EIO : nil }
    #expect(throws: MessageSendingError.self) { try queue.append(message("message 1"), secret: fixture.right) }
    #expect(try fixture.queue.fillLevel(secret: fixture.right) == 1)
  }

  @Test("All changes take the same steps on the disk, with eight messages as with none")
  func sameSteps() throws {
    let record = Lock<[String]>([])
    let queue = try broken { step, path in
      record.withLock { $0.append("\(step) \(path)") }
      return nil
    }
    func steps(of body: () throws -> Void) rethrows -> [String] {
      record.withLock { $0 = [] }
      try body()
      return record.withLock { $0 }
    }
    let rewriting = try steps { try queue.rewrite() }
    #expect(rewriting.count == 6)
    for _ in 0..<SendingQueue.capacity {
      #expect(try steps { _ = try queue.append(message("x"), secret: fixture.right) } == rewriting)
    }
    #expect(try steps { try queue.rewrite() } == rewriting)
    let sent = try queue.head()
    let cover = try RandomCovers().cover()
    #expect(try steps { _ = try queue.removeHead(ifEqualTo: sent, appending: cover) } == rewriting)
    #expect(try steps { _ = try queue.removeHead(ifEqualTo: cover, appending: cover) } == rewriting)
    #expect(try steps { _ = try queue.head() } == [])
  }

  @Test("Without covers a damaged queue stays as it is, and a new one is not made")
  func noCovers() throws {
    struct NoCovers: CoverSource {
      func cover() throws(MessageSendingError) -> SealedMessage { throw MessageSendingError(.expiredKeys, "expired") }
    }
    func open(_ name: String) -> MessageSendingError.Code? {
      #expect(throws: MessageSendingError.self) {
        try SendingQueue.open(path: fixture.folder.path + "/" + name, covers: NoCovers(), onProblem: { _ in })
      }?.code
    }
    try fixture.folder.write([1, 2, 3], "queue")
    #expect(open("queue") == .expiredKeys)
    #expect(open("other") == .expiredKeys)
    #expect(try fixture.folder.bytes("queue") == [1, 2, 3])
    #expect(try !fixture.folder.names.contains("other"))
  }

  @Test("What a crash left behind, a link or a file for all, is replaced and not written through")
  func leftover() throws {
    try fixture.folder.write([7], "victim")
    let temporary = fixture.queue.path + ".new"
    #expect(symlink(fixture.folder.path + "/victim", temporary) == 0)
    try fixture.queue.rewrite()
    #expect(try fixture.folder.bytes("victim") == [7])
    try fixture.folder.write([7], "queue.new")
    #expect(chmod(temporary, 0o666) == 0)
    try fixture.queue.rewrite()
    let mode = try FileManager.default.attributesOfItem(atPath: fixture.queue.path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    #expect(try fixture.folder.names == ["queue", "queue.lock", "victim"])
  }

  @Test("A lock that another process holds ends the wait with an error")
  func held() throws {
    let lock = try #require(try FileLock(path: fixture.queue.lockPath))
    defer { lock.release() }
    let error = #expect(throws: MessageSendingError.self) {
      try SendingQueue.open(
        path: fixture.queue.path, covers: RandomCovers(), disk: Disk(), lockAttempts: 2, onProblem: { _ in })
    }
    #expect(error?.code == .busy)
  }

  @Test("Each rewrite makes a new inode, so that none shows that something was written")
  func inode() throws {
    func inode() throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: fixture.queue.path)[.systemFileNumber] as? Int
    }
    let bytes = try fixture.folder.bytes("queue")
    var before = try inode()
    for call in [fixture.queue.rewrite, { _ = try fixture.reopened() }] as [() throws -> Void] {
      try call()
      #expect(try inode() != before)
      before = try inode()
    }
    #expect(try fixture.folder.bytes("queue") == bytes)
  }
}
