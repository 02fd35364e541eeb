import Foundation
import Testing

@testable import MessageSending

/// The cases R1 to R5 and F1 to F4 of the specification, and what can happen to a file.
@Suite("The file of a queue")
struct QueueFileTests {
  let fixture: QueueFixture
  var queue: SendingQueue { fixture.queue }
  var folder: TestFolder { fixture.folder }
  init() throws { fixture = try QueueFixture() }

  @Test("R1: a message changes what the file says")
  func change() throws {
    let before = try folder.bytes("queue")
    _ = try queue.append(message("message 1"), secret: fixture.right)
    #expect(try folder.bytes("queue") != before)
  }

  @Test("R2: of messages written at once, those that fit are queued", arguments: [(6, 0), (7, 1), (8, 2)])
  func concurrent(filled: Int, refused: Int) async throws {
    for number in 0..<filled { _ = try queue.append(message("\(number)"), secret: fixture.right) }
    let other = try fixture.reopened()
    let errors = await withTaskGroup(of: MessageSendingError?.self) { group in
      for (queue, text) in [(queue, "a"), (other, "b")] {
        group.addTask { [fixture] in
          do {
            _ = try queue.append(message(text), secret: fixture.right)
            return nil
          } catch { return error as? MessageSendingError }
        }
      }
      return await group.reduce(into: [MessageSendingError?]()) { $0.append($1) }.compactMap(\.self)
    }
    #expect(errors.map(\.code) == [MessageSendingError.Code](repeating: .queueIsFull, count: refused))
    #expect(try queue.fillLevel(secret: fixture.right) == SendingQueue.capacity)
  }

  @Test("R3: two messages at once are both there, one leaves, and a look at the head removes none")
  func atOnce() async throws {
    #expect(try queue.fillLevel(secret: fixture.right) == 0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for text in ["a", "b"] {
        group.addTask { [fixture] in _ = try fixture.queue.append(message(text), secret: fixture.right) }
      }
      try await group.waitForAll()
    }
    #expect(try queue.fillLevel(secret: fixture.right) == 2)
    _ = try queue.head()
    #expect(try queue.fillLevel(secret: fixture.right) == 2)
    try fixture.dequeue()
    #expect(try queue.fillLevel(secret: fixture.right) == 1)
  }

  @Test("R4: after a wipe no hint is left")
  func wipe() throws {
    let hint = try queue.append(message("message 1"), secret: fixture.right)
    #expect(try queue.contains(hint))
    try queue.wipe()
    #expect(try !queue.contains(hint))
    #expect(try queue.fillLevel(secret: fixture.right) == 0)
  }

  @Test("R5: the file is read to an equal queue, as often as wanted")
  func repeatable() throws {
    _ = try queue.append(message("message 1"), secret: fixture.right)
    let bytes = try folder.bytes("queue")
    let contents = try QueueContents(fileBytes: bytes)
    #expect(contents.fileBytes == bytes)
    for _ in 0..<3 { _ = try fixture.reopened() }
    #expect(try QueueContents(fileBytes: folder.bytes("queue")) == contents)
  }

  @Test(
    "F1: a flipped byte, a missing byte, another byte and an empty file are set aside, with an event",
    arguments: ["flipped", "dropped", "appended", "empty"])
  func corruption(kind: String) throws {
    _ = try queue.append(message("message 1"), secret: fixture.right)
    var bytes = try folder.bytes("queue")
    switch kind {
    case "flipped": bytes[0] ^= 1
    case "dropped": bytes.removeLast()
    case "appended": bytes.append(0)
    default: bytes = []
    }
    try folder.write(bytes, "queue")
    let reopened = try fixture.reopened()
    #expect(try reopened.fillLevel(secret: fixture.right) == 0)
    #expect(try folder.bytes("queue.damaged") == bytes, "nothing of it is lost")
    #expect(fixture.problems.all.map(\.code) == [.damagedFile])
    #expect(fixture.problems.all.first?.hint?.contains(queue.damagedPath) == true)
    #expect(try folder.bytes("queue").count == 6352)
  }

  @Test("F1: a file that is damaged or removed between two calls is replaced, with an event")
  func corruptionLater() throws {
    try folder.write([1, 2, 3], "queue")
    _ = try queue.head()
    #expect(fixture.problems.all.count == 1)
    try FileManager.default.removeItem(atPath: queue.path)
    _ = try queue.append(message("message 1"), secret: fixture.right)
    #expect(try queue.fillLevel(secret: fixture.right) == 1)
    #expect(fixture.problems.all.map(\.code) == [.damagedFile, .damagedFile])
  }

  @Test("F2: a file of the earlier layout is converted to an equal queue; a truncated one is set aside")
  func conversion() throws {
    let hints = QueueLayoutTests.hints(32)
    let old = QueueLayout.littleEndian.bytes(items: try QueueLayoutTests.items(), hints: hints)
    try folder.write(old, "queue")
    _ = try fixture.reopened()
    let contents = try QueueContents(fileBytes: folder.bytes("queue"))
    #expect(contents.items == (try QueueLayoutTests.items()))
    #expect(contents.hints.map(\.bytes) == QueueLayoutTests.hints(16))
    #expect(try folder.bytes("queue").count == 6352)
    #expect(fixture.problems.all.isEmpty)
    try folder.write(Array(old.dropLast()), "queue")
    _ = try fixture.reopened()
    #expect(try folder.bytes("queue.damaged") == Array(old.dropLast()))
    #expect(fixture.problems.all.count == 1)
  }

  @Test("F2: the hint of a message in the earlier layout is found with the secret")
  func convertedHint() throws {
    let item = try message("message 1")
    var items = try QueueLayoutTests.items()
    items[0] = item
    var hints = QueueLayoutTests.hints(32)
    hints[0] = Sodium.hmac(fixture.right, item.bytes)
    try folder.write(QueueLayout.littleEndian.bytes(items: items, hints: hints), "queue")
    #expect(try fixture.reopened().fillLevel(secret: fixture.right) == 1)
  }

  @Test("F3: a folder that does not exist is refused with the error number")
  func noFolder() {
    let error = #expect(throws: MessageSendingError.self) {
      try SendingQueue.open(path: "/nonexistent/queue", covers: RandomCovers(), onProblem: { _ in })
    }
    #expect(error?.code == .storage)
    #expect(error?.errno == ENOENT)
  }

  @Test("F4: there are the queue and its lock, for their user only, and no other file")
  func files() throws {
    _ = try queue.append(message("message 1"), secret: fixture.right)
    #expect(try folder.names == ["queue", "queue.lock"])
    for name in try folder.names {
      let mode = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)[.posixPermissions]
      #expect(mode as? Int == 0o600)
    }
  }
}
