import Foundation
import MessageSending

/// A folder of a test's own, removed with the object.
final class TestFolder: Sendable {
  let path = NSTemporaryDirectory() + "edgeblue-messages-\(UUID().uuidString)"
  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(atPath: path) }  // What is left is in a folder for temporary files.

  var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

  func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path + "/" + name))) }

  func write(_ bytes: [UInt8], _ name: String) throws { try Data(bytes).write(to: URL(filePath: path + "/" + name)) }
}

/// Random bytes in the place of covers: enough for a queue, which opens none.
struct RandomCovers: CoverSource {
  func cover() throws(MessageSendingError) -> SealedMessage {
    var random = SystemRandomNumberGenerator()
    return try SealedMessage(bytes: (0..<SealedMessage.byteCount).map { _ in .random(in: 0...255, using: &random) })
  }
}

/// What a test hears of damaged files.
final class Problems: Sendable {
  private let list = NSLockedArray<MessageSendingError>()
  var all: [MessageSendingError] { list.all }
  var report: @Sendable (MessageSendingError) -> Void { { [list] in list.append($0) } }
}

/// An array with a lock.
final class NSLockedArray<Element: Sendable>: @unchecked Sendable {
  // Sound: the elements are touched only under the lock.
  private let lock = NSLock()
  private var elements: [Element] = []
  var all: [Element] { lock.withLock { elements } }
  func append(_ element: Element) { lock.withLock { elements.append(element) } }
}

/// Secret bytes of a text.
func secret(_ text: String) throws -> SecretBytes {
  var bytes = Array(text.utf8)
  return try SecretBytes(taking: &bytes)
}

/// A message that is recognized by its text, with zeros behind it.
func message(_ text: String) throws -> SealedMessage {
  let bytes = Array(text.utf8)
  return try SealedMessage(bytes: bytes + [UInt8](repeating: 0, count: SealedMessage.byteCount - bytes.count))
}

/// A queue in a folder of its own, with two secrets.
struct QueueFixture {
  let folder: TestFolder
  let queue: SendingQueue
  let problems = Problems()
  let right: SecretBytes
  let wrong: SecretBytes

  init() throws {
    folder = try TestFolder()
    right = try secret("secret__secret__")
    wrong = try secret("__terces__terces")
    queue = try SendingQueue.open(path: folder.path + "/queue", covers: RandomCovers(), onProblem: problems.report)
  }

  /// Takes the head out, as after it was sent.
  @discardableResult func dequeue() throws -> SealedMessage {
    let head = try queue.head()
    _ = try queue.removeHead(ifEqualTo: head, appending: RandomCovers().cover())
    return head
  }

  /// Opens the same file once more, as another process would.
  func reopened() throws -> SendingQueue {
    try SendingQueue.open(path: queue.path, covers: RandomCovers(), onProblem: problems.report)
  }
}
