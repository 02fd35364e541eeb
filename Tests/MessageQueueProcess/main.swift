// Uses a queue of messages from a process of its own, for tests of locks and kills.
//
//   message-queue-process QUEUE write FIRST COUNT    queues messages FIRST and following; prints "queued NUMBER"
//   message-queue-process QUEUE send COUNT           takes heads out; prints "sent HEX", the head's first 16 bytes
//
// A line is printed after a message is queued, and before one is removed: as a server would have it by then.

import Glibc
import MessageSending

/// Random bytes in the place of covers.
struct RandomCovers: CoverSource {
  func cover() throws(MessageSendingError) -> SealedMessage {
    var random = SystemRandomNumberGenerator()
    return try SealedMessage(bytes: (0..<SealedMessage.byteCount).map { _ in .random(in: 0...255, using: &random) })
  }
}

func show(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  guard Glibc.write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { exit(74) }
}

func numbered(_ number: Int) throws -> SealedMessage {
  let text = Array("message \(number) ".utf8)
  return try SealedMessage(bytes: text + [UInt8](repeating: 0, count: SealedMessage.byteCount - text.count))
}

func write(_ queue: SendingQueue, from first: Int, count: Int) throws {
  var bytes = Array("secret__secret__".utf8)
  let secret = try SecretBytes(taking: &bytes)
  for number in first..<first + count {
    // A full queue is waited for, a minute at most.
    for attempt in 0... {
      do {
        _ = try queue.append(numbered(number), secret: secret)
        show("queued \(number)")
        break
      } catch let error as MessageSendingError where error.code == .queueIsFull && attempt < 6000 {
        usleep(10_000)
      }
    }
  }
}

func send(_ queue: SendingQueue, count: Int) throws {
  for _ in 0..<count {
    let cover = try RandomCovers().cover()
    let head = try queue.takeHead()
    show("sent " + head.bytes.prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
    try queue.removeHead(ifEqualTo: head, appending: cover)
  }
}

let arguments = CommandLine.arguments.dropFirst()
let numbers = arguments.compactMap(Int.init)
guard let path = arguments.first, arguments.count == numbers.count + 2 else { exit(64) }
do {
  let queue = try SendingQueue.open(path: path, covers: RandomCovers(), onProblem: { show("problem \($0)") })
  switch (arguments.dropFirst().first, numbers.count) {
  case ("write", 2): try write(queue, from: numbers[0], count: numbers[1])
  case ("send", 1): try send(queue, count: numbers[0])
  default: exit(64)
  }
} catch {
  show("error \(error)")
  exit(1)
}
