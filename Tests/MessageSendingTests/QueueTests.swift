import Foundation
import Testing

@testable import MessageSending

/// The cases Q1 to Q11 of the specification of message sending.
@Suite("A queue of messages")
struct QueueTests {
  let fixture: QueueFixture
  var queue: SendingQueue { fixture.queue }
  init() throws { fixture = try QueueFixture() }

  @Test("Q1: each message raises the fill level by one")
  func fillLevel() throws {
    #expect(try queue.fillLevel(secret: fixture.right) == 0)
    _ = try queue.append(message("message 1"), secret: fixture.right)
    #expect(try queue.fillLevel(secret: fixture.right) == 1)
    _ = try queue.append(message("message 2"), secret: fixture.right)
    #expect(try queue.fillLevel(secret: fixture.right) == 2)
  }

  @Test("Q2: a wrong secret sees no message")
  func wrongSecret() throws {
    #expect(try queue.fillLevel(secret: fixture.wrong) == 0)
    _ = try queue.append(message("message 1"), secret: fixture.right)
    #expect(try queue.fillLevel(secret: fixture.wrong) == 0)
  }

  @Test("Q3: eight messages fit, also equal ones, and the ninth is refused without a change")
  func full() throws {
    for _ in 0..<SendingQueue.capacity { _ = try queue.append(message("again"), secret: fixture.right) }
    let before = try fixture.folder.bytes("queue")
    let error = #expect(throws: MessageSendingError.self) {
      try queue.append(message("again"), secret: fixture.right)
    }
    #expect(error?.code == .queueIsFull)
    #expect(try fixture.folder.bytes("queue") == before)
  }

  @Test("Q4, 19: a message of another secret becomes the head")
  func otherSecret() throws {
    _ = try queue.append(message("message 1"), secret: fixture.right)
    _ = try queue.append(message("message 2"), secret: fixture.right)
    _ = try queue.append(message("message 3"), secret: fixture.wrong)
    #expect(try fixture.dequeue() == message("message 3"))
    #expect(try queue.head() == message("message 2"), "what it overwrote is the first only")
  }

  @Test("Q5: messages leave in the order in which they came")
  func order() throws {
    _ = try queue.append(message("message 1"), secret: fixture.right)
    _ = try queue.append(message("message 2"), secret: fixture.right)
    #expect(try fixture.dequeue() == message("message 1"))
    #expect(try fixture.dequeue() == message("message 2"))
  }

  @Test("Q6: after the messages come covers, without an end")
  func covers() throws {
    let sent = [try message("message 1"), try message("message 2")]
    for message in sent { _ = try queue.append(message, secret: fixture.right) }
    for _ in sent { try fixture.dequeue() }
    for _ in 0..<20 { #expect(try !sent.contains(fixture.dequeue())) }
  }

  @Test("Q7: no bytes and one byte are no queue", arguments: [[], [1]] as [[UInt8]])
  func tooShort(bytes: [UInt8]) {
    let error = #expect(throws: MessageSendingError.self) { try QueueContents(fileBytes: bytes) }
    #expect(error?.code == .damagedFile)
  }

  @Test("Q8: what was written is read, with messages and without")
  func roundTrip() throws {
    var original = try QueueContents(covers: RandomCovers())
    #expect(try QueueContents(fileBytes: original.fileBytes) == original)
    _ = try original.append(message("message 1"), secret: fixture.right)
    _ = try original.append(message("message 2"), secret: fixture.right)
    let copy = try QueueContents(fileBytes: original.fileBytes)
    #expect(copy == original)
    #expect(copy.fillLevel(secret: fixture.right) == 2)
    #expect(copy.items[0...1] == [try message("message 1"), try message("message 2")])
    #expect(copy.items[2] == original.items[2], "the same first cover")
  }

  @Test("Q9: a hint is in the queue until its message has left")
  func hint() throws {
    let first = try queue.append(message("message 1"), secret: fixture.right)
    let second = try queue.append(message("message 2"), secret: fixture.right)
    #expect(try queue.hints(secret: fixture.right) == [first, second])
    try fixture.dequeue()
    #expect(try !queue.contains(first))
    #expect(try queue.contains(second))
    try fixture.dequeue()
    #expect(try !queue.contains(second))
  }

  @Test("Q10: all eight items are distinct, whatever is done")
  func distinct() throws {
    func items() throws -> Set<SealedMessage> { Set(try QueueContents(fileBytes: fixture.folder.bytes("queue")).items) }
    #expect(try items().count == SendingQueue.capacity)
    for number in 1...3 { _ = try queue.append(message("message \(number)"), secret: fixture.right) }
    #expect(try items().count == SendingQueue.capacity)
    for _ in 1...5 { try fixture.dequeue() }
    #expect(try items().count == SendingQueue.capacity)
  }

  @Test("Q11: a queue that is cleared holds no message")
  func clear() throws {
    _ = try queue.append(message("message 1"), secret: fixture.right)
    _ = try queue.append(message("message 2"), secret: fixture.right)
    for _ in 0..<(try queue.fillLevel(secret: fixture.right)) { try fixture.dequeue() }
    #expect(try queue.fillLevel(secret: fixture.right) == 0)
  }

  @Test("Only a head that was sent is removed: what overwrote it meanwhile stays")
  func conditionalRemoval() throws {
    let sent = try queue.head()
    let hint = try queue.append(message("written while a cover is sent"), secret: fixture.right)
    #expect(try !queue.removeHead(ifEqualTo: sent, appending: RandomCovers().cover()))
    #expect(try queue.contains(hint))
    #expect(try queue.head() == message("written while a cover is sent"))
  }

  @Test("A secret of another size is refused", arguments: [0, 15, 17])
  func secretSize(count: Int) throws {
    let error = #expect(throws: MessageSendingError.self) {
      try queue.append(message("message 1"), secret: SecretBytes(randomCount: count))
    }
    #expect(error?.code == .invalidArgument)
  }
}
