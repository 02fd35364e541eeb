import DurableFiles
import Foundation
import Glibc
import Streams
import Testing

@testable import MessageSending

@Suite("The queue of a relay") struct RelayQueueTests {
  let folder: TestFolder
  init() throws { folder = try TestFolder() }

  private func queue(limit: Int = 512, disk: Disk = Disk()) throws -> RelayQueue {
    try RelayQueue(folder: folder.path + "/relay", limit: limit, covers: RandomCovers(), disk: disk)
  }

  @discardableResult private func dequeue(_ queue: RelayQueue) throws -> SealedMessage {
    let head = try queue.takeHead()
    #expect(try queue.removeHead(ifEqualTo: head, appending: RandomCovers().cover()))
    return head
  }

  @Test("Messages leave in the order in which they came, also after a restart") func theOrder() throws {
    do {
      let queue = try queue()
      for number in 1...12 { try queue.append(message("message \(number)")) }
      #expect(try dequeue(queue) == message("message 1"))
    }
    let again = try queue()
    #expect(again.count == 11)
    try again.append(message("message 13"))
    for number in 2...13 { #expect(try dequeue(again) == message("message \(number)")) }
    #expect(again.count == 0)
  }

  @Test("A full queue refuses, and one that waits already is taken once") func theLimit() throws {
    let queue = try queue(limit: 2)
    try queue.append(message("message 1"))
    try queue.append(message("message 1"))
    try queue.append(message("message 2"))
    let error = #expect(throws: MessageSendingError.self) { try queue.append(message("message 3")) }
    #expect(error?.code == .queueIsFull)
    #expect(throws: Never.self) { try queue.append(message("message 2")) }
    #expect(queue.count == 2)
    try dequeue(queue)
    #expect(throws: Never.self) { try queue.append(message("message 3")) }
  }

  @Test("An empty queue has a cover, which keeps its place until it was sent, also after a restart")
  func anEmptyQueueHasACover() throws {
    let cover: SealedMessage
    do {
      let queue = try queue()
      cover = try queue.takeHead()
      try queue.append(message("message"))
      #expect(try queue.takeHead() == cover)
      #expect(try !queue.removeHead(ifEqualTo: message("message"), appending: cover))
    }
    let again = try queue()
    #expect(try dequeue(again) == cover)
    #expect(try dequeue(again) == message("message"))
  }

  @Test("Files that are no message are set aside or left, and a second process is refused") func otherFiles() throws {
    try FileManager.default.createDirectory(atPath: folder.path + "/relay", withIntermediateDirectories: true)
    let names = [
      "item-0000000007.box", "item-9.box", "item--1.box", "item-99999999999999999999.box", "item-.box", "new",
      "item-9223372036854775807.box",
    ]
    for name in names { try folder.write([1, 2, 3], "relay/" + name) }
    let queue = try queue()
    #expect(queue.count == 0)
    try queue.append(message("message"))
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/relay")
    #expect(left.contains("item-0000000007.box.damaged"))
    #expect(left.contains("item-0000000008.box"))
    #expect(!left.contains("new"))
    let error = #expect(throws: MessageSendingError.self) { try self.queue() }
    #expect(error?.code == .busy)
  }

  @Test("A crash at any step loses no message that was taken, and the next start has each at most once")
  func aCrashAtAnyStep() throws {
    var steps = 0
    while true {
      let left = Lock(steps)
      let hasStopped = Lock(false)
      let disk = Disk { _, _ in
        let remaining = left.withLock { left in
          left -= 1
          return left
        }
        guard remaining < 0 else { return nil }
        hasStopped.withLock { $0 = true }
        return EIO
      }
      let path = folder.path + "/relay \(steps)"
      var taken: [SealedMessage] = []
      var sent: [SealedMessage] = []
      do {
        let queue = try RelayQueue(folder: path, limit: 9, covers: RandomCovers(), disk: disk)
        for number in 1...3 {
          try queue.append(message("message \(number)"))
          taken.append(try message("message \(number)"))
        }
        sent.append(try queue.takeHead())
        try queue.removeHead(ifEqualTo: sent[0], appending: RandomCovers().cover())
      } catch let error as MessageSendingError {
        #expect(error.code == .storage)
      }
      let again = try RelayQueue(folder: path, limit: 9, covers: RandomCovers())
      var kept: [SealedMessage] = []
      while again.count > 0 { kept.append(try dequeue(again)) }
      #expect(Set(kept).count == kept.count)
      for message in taken where !sent.contains(message) { #expect(kept.contains(message), "step \(steps)") }
      guard hasStopped.withLock({ $0 }) else { break }
      steps += 1
    }
    #expect(steps > 12)
  }
}
