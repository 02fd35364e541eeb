package import DurableFiles
import Glibc
internal import Streams

/// The queue of a relay: messages of others in the order in which they came, each in a file, up to a limit.
///
/// A relay cannot tell covers from messages. Where the queue is empty it makes a cover of its own, which then waits for
/// its turn like any other, so that the relay's rate does not show whether somebody was near.
///
/// ```swift
/// func relay(_ covers: any CoverSource) throws -> RelayQueue {
///   try RelayQueue(folder: "/var/lib/edgeblue/messages/relay", covers: covers)
/// }
/// ```
public final class RelayQueue: MessageSource {
  private struct Item {
    var number: Int
    var message: SealedMessage
  }

  private struct State {
    var items: [Item] = []
    var next = 1
  }

  /// The folder of the messages.
  public let folder: String
  /// The largest number of messages of others that wait.
  public let limit: Int
  private let covers: any CoverSource
  private let disk: Disk
  private let ownership: FileLock
  private let state: Lock<State>

  /// Opens the folder, and creates it if it does not exist.
  /// - Parameters:
  ///   - folder: The folder, which belongs to this process while the object exists.
  ///   - limit: The largest number of messages that wait, 1 or more: 512 by default.
  ///   - covers: The source of covers for an empty queue.
  /// - Throws: ``MessageSendingError`` with code `.storage`, or `.busy` if another process has the folder.
  public convenience init(folder: String, limit: Int = 512, covers: any CoverSource) throws(MessageSendingError) {
    try self.init(folder: folder, limit: limit, covers: covers, disk: Disk())
  }

  /// Opens the folder on a disk whose steps a test can make fail.
  package init(folder: String, limit: Int, covers: any CoverSource, disk: Disk) throws(MessageSendingError) {
    self.folder = folder
    self.limit = max(limit, 1)
    self.covers = covers
    self.disk = disk
    let lock: FileLock?
    var state = State()
    do throws(FileError) {
      try disk.createFolder(folder)
      lock = try FileLock(path: folder + "/lock")
      if lock != nil { state = try Self.load(folder, disk) }
    } catch {
      throw MessageSendingError(error)
    }
    guard let lock else { throw MessageSendingError(.busy, "another process relays messages in \(folder)") }
    ownership = lock
    self.state = Lock(state)
  }

  /// The number of messages that wait.
  public var count: Int { state.withLock { $0.items.count } }

  /// Adds a message, which is on disk when this returns; one that waits already is not added again.
  /// - Throws: ``MessageSendingError`` with code `.queueIsFull`, or `.storage`; the message is then not in the queue, or
  ///   it is and its sender does not know.
  public func append(_ message: SealedMessage) throws(MessageSendingError) {
    try state.withLock { state throws(MessageSendingError) in
      // Its sender has not heard that it is here, and sends it again.
      if state.items.contains(where: { $0.message == message }) { return }
      guard state.items.count < limit else {
        throw MessageSendingError(.queueIsFull, "the relay holds \(state.items.count) messages")
      }
      try add(message, to: &state)
    }
  }

  /// Returns the oldest message; where there is none, a new cover, which stays until it was sent.
  /// - Throws: ``MessageSendingError``, also that of the covers.
  public func takeHead() throws(MessageSendingError) -> SealedMessage {
    try state.withLock { state throws(MessageSendingError) in
      if state.items.isEmpty { try add(covers.cover(), to: &state) }
      return state.items[0].message
    }
  }

  /// Removes the oldest message, if it equals the one that was sent. The cover is not needed.
  /// - Throws: ``MessageSendingError`` with code `.storage`; the message may then be sent once more.
  @discardableResult
  public func removeHead(
    ifEqualTo message: SealedMessage, appending cover: SealedMessage
  ) throws(MessageSendingError) -> Bool {
    try state.withLock { state throws(MessageSendingError) in
      guard let head = state.items.first, head.message == message else { return false }
      do throws(FileError) {
        try disk.remove(Self.path(folder, head.number))
        try disk.sync(folder: folder)
      } catch {
        throw MessageSendingError(error)
      }
      state.items.removeFirst()
      return true
    }
  }

  /// Does nothing: the times of the files show when messages came, and not which of them are covers.
  public func rewrite() {}

  private func add(_ message: SealedMessage, to state: inout State) throws(MessageSendingError) {
    let number = state.next
    // Its name is used up even if the file is left half made.
    state.next += 1
    do throws(FileError) {
      let new = folder + "/new"
      try disk.remove(new)
      try disk.replace(Self.path(folder, number), with: message.bytes, by: new)
      try disk.sync(folder: folder)
    } catch {
      throw MessageSendingError(error)
    }
    state.items.append(Item(number: number, message: message))
  }

  /// Reads what waits; a file that is no message is set aside.
  private static func load(_ folder: String, _ disk: Disk) throws(FileError) -> State {
    var state = State()
    for name in try disk.names(in: folder) where name.hasPrefix("item-") && name.hasSuffix(".box") {
      guard let number = Int(name.dropFirst(5).dropLast(4)), number > 0, number < 1 << 40,
        path(folder, number) == "\(folder)/\(name)"
      else { continue }
      state.next = max(state.next, number + 1)
      let bytes = try disk.read(folder + "/" + name, limit: SealedMessage.byteCount, followsLinks: false) ?? []
      guard bytes.count == SealedMessage.byteCount else {
        try disk.rename(folder + "/" + name, to: folder + "/" + name + ".damaged")
        continue
      }
      state.items.append(Item(number: number, message: SealedMessage(checked: bytes)))
    }
    state.items.sort { $0.number < $1.number }
    return state
  }

  private static func path(_ folder: String, _ number: Int) -> String {
    let digits = "\(number)"
    return "\(folder)/item-\(String(repeating: "0", count: max(10 - digits.count, 0)))\(digits).box"
  }
}
