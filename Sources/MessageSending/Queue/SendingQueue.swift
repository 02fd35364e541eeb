package import DurableFiles
import FoundationEssentials
internal import Streams

/// A queue of messages to send that is always full: where there is no message there is a cover.
///
/// The file has the same size with eight messages as with none, and nobody without the secret can tell what it holds.
/// Several processes and tasks may use one queue: each operation holds a file lock from reading to writing. A file is
/// whole at every moment, also after `kill -9`, a power cut and on a full disk.
///
/// A sender takes the head, sends it, and removes it only if it is still there:
///
/// ```swift
/// func sendOne(of queue: SendingQueue, covers: any CoverSource, by send: (SealedMessage) throws -> Void) throws {
///   let cover = try covers.cover()
///   let message = try queue.takeHead()
///   try send(message)
///   try queue.removeHead(ifEqualTo: message, appending: cover)
/// }
/// ```
///
/// The calls block the thread for the time of a few writes, and at most 10 s for another process.
public final class SendingQueue: Sendable {
  /// The number of messages that the queue can hold, 8.
  public static let capacity = QueueContents.capacity
  /// The size of the queue's secret, 16 bytes.
  public static let secretByteCount = 16

  /// The path of the queue's file.
  public let path: String
  private let file: WholeFile
  /// The SHA-256 of the head that was last taken to be sent. It says nothing about what the head is.
  private let taken: WholeFile
  private let disk: Disk
  private let covers: any CoverSource
  private let onProblem: @Sendable (MessageSendingError) -> Void
  /// Spares the tasks of this process the waiting for the file's lock.
  private let turn = Lock(())
  private let lockAttempts: Int

  /// The file that processes lock, beside the queue's.
  public var lockPath: String { path + ".lock" }
  /// The file that a damaged queue is renamed to; a newer damaged one replaces an older one.
  public var damagedPath: String { file.damagedPath }

  private init(
    path: String, covers: any CoverSource, disk: Disk, lockAttempts: Int,
    onProblem: @escaping @Sendable (MessageSendingError) -> Void
  ) {
    self.path = path
    self.covers = covers
    self.disk = disk
    self.lockAttempts = lockAttempts
    self.onProblem = onProblem
    file = WholeFile(path: path, limit: QueueLayout.littleEndian.fileByteCount, disk: disk)
    taken = WholeFile(path: path + ".taken", limit: Sodium.sha256ByteCount, disk: disk)
  }

  /// Opens a queue and rewrites its file; creates a queue of covers where there is none.
  /// - Parameters:
  ///   - path: The path of the queue's file, in a folder that exists.
  ///   - covers: The source of the covers of a new queue.
  ///   - onProblem: A closure that is called, now or during a later call, after a damaged or missing file has been
  ///     replaced by covers. The messages of the damaged file stay in ``damagedPath``.
  /// - Throws: ``MessageSendingError`` with code `.storage` or `.busy`, or the source's error, for example because the
  ///   keys have expired: then there is no queue, and an existing one is as it was.
  public static func open(
    path: String, covers: any CoverSource, onProblem: @escaping @Sendable (MessageSendingError) -> Void
  ) throws(MessageSendingError) -> SendingQueue {
    try open(path: path, covers: covers, disk: Disk(), onProblem: onProblem)
  }

  /// Opens a queue on a disk whose steps a test can make fail, with a number of attempts, 5 ms apart, to get the lock.
  package static func open(
    path: String, covers: any CoverSource, disk: Disk, lockAttempts: Int = 2000,
    onProblem: @escaping @Sendable (MessageSendingError) -> Void
  ) throws(MessageSendingError) -> SendingQueue {
    try Sodium.start()
    let queue = SendingQueue(
      path: path, covers: covers, disk: disk, lockAttempts: lockAttempts, onProblem: onProblem)
    try queue.locked { () throws(MessageSendingError) in try queue.save(queue.load(isNew: true)) }
    return queue
  }

  /// Returns the message or cover that is to be sent next, without a change.
  /// - Throws: ``MessageSendingError``.
  public func head() throws(MessageSendingError) -> SealedMessage {
    try reading { contents in contents.head }
  }

  /// Returns the message or cover to send now, which keeps its place from then on until it was sent.
  ///
  /// A message that is queued meanwhile waits behind it. Whoever sees an attempt that fails would otherwise see another
  /// head in the next one, if the head was a cover and its user has written: covers and messages would differ.
  /// - Throws: ``MessageSendingError``; the head is then not to be sent.
  public func takeHead() throws(MessageSendingError) -> SealedMessage {
    try locked { () throws(MessageSendingError) in
      let head = try load(isNew: false).head
      do throws(FileError) {
        try disk.remove(taken.path + ".new")
        try taken.write(Data(Sodium.sha256(head.bytes)))
      } catch { throw MessageSendingError(error) }
      return head
    }
  }

  /// Removes the head and appends a cover, if the head equals the message that was sent; otherwise rewrites the file.
  /// - Parameters:
  ///   - message: The message that the server has. The user may have overwritten it meanwhile.
  ///   - cover: A cover to append.
  /// - Returns: `true` if the head was removed.
  /// - Throws: ``MessageSendingError``; the message may then be in the queue still, to be sent once more.
  @discardableResult
  public func removeHead(
    ifEqualTo message: SealedMessage, appending cover: SealedMessage
  ) throws(MessageSendingError) -> Bool {
    try changing { contents throws(MessageSendingError) in
      try contents.removeHead(ifEqualTo: message, appending: cover)
    }
  }

  /// Puts a message behind those of the same secret, in the place of a cover that was not taken to be sent.
  /// - Parameters:
  ///   - message: The sealed message.
  ///   - secret: The queue's secret, 16 bytes, which only the user's vault has.
  /// - Returns: The hint by which ``contains(_:)`` finds the message. The message is on disk when this returns.
  /// - Throws: ``MessageSendingError`` with code `.queueIsFull` when there are ``capacity`` messages already, or one less
  ///   behind a cover that is being sent.
  public func append(_ message: SealedMessage, secret: SecretBytes) throws(MessageSendingError) -> MessageHint {
    try Self.check(secret)
    return try changing { contents throws(MessageSendingError) in
      try contents.append(message, secret: secret, isHeadTaken: try isTaken(contents.head))
    }
  }

  /// Writes the file anew without a change, so that its time and inode do not show when a message was written.
  ///
  /// To be called at every start, stop, resume and tick of the sender.
  /// - Throws: ``MessageSendingError``.
  public func rewrite() throws(MessageSendingError) { try changing { _ in } }

  /// Returns the number of messages of a secret at the head of the queue; 0 for a wrong secret.
  /// - Throws: ``MessageSendingError``.
  public func fillLevel(secret: SecretBytes) throws(MessageSendingError) -> Int {
    try hints(secret: secret).count
  }

  /// Returns the hints of the messages of a secret at the head of the queue, in the order in which they are sent.
  /// - Throws: ``MessageSendingError``.
  public func hints(secret: SecretBytes) throws(MessageSendingError) -> [MessageHint] {
    try Self.check(secret)
    return try reading { contents in Array(contents.hints[contents.places(secret: secret)]) }
  }

  /// Returns `true` if the message of a hint waits in the queue, and `false` if it was sent, overwritten or wiped.
  /// - Throws: ``MessageSendingError``.
  public func contains(_ hint: MessageHint) throws(MessageSendingError) -> Bool {
    try reading { contents in contents.hints.contains(hint) }
  }

  /// Returns `true` if there is a damaged file, whose messages may be lost.
  /// - Throws: ``MessageSendingError`` with code `.storage`.
  public func hasDamagedFile() throws(MessageSendingError) -> Bool { try damage() != nil }

  /// Returns the mark of the damaged file; `nil` if there is none.
  func damage() throws(MessageSendingError) -> MessageHint? {
    let file = WholeFile(path: damagedPath, limit: 0, disk: disk)
    do { return try file.stamp().map { MessageHint(damage: $0) } } catch { throw MessageSendingError(error) }
  }

  /// Replaces all messages by covers, irrevocably, also one that a server has refused: it sees that the head changes. A vault that has their hints shows them as sent:
  /// ``Outbox/wipe()`` removes those too.
  /// - Throws: ``MessageSendingError``; the queue is then as it was, or wiped.
  public func wipe() throws(MessageSendingError) {
    let contents = try QueueContents(covers: covers)
    try changing { $0 = contents }
  }

  private static func check(_ secret: SecretBytes) throws(MessageSendingError) {
    try checkSize(of: "the queue's secret", secret.count, secretByteCount)
  }
}

// MARK: - The file

extension SendingQueue {
  private func reading<R>(
    _ body: (QueueContents) throws(MessageSendingError) -> R
  ) throws(MessageSendingError) -> R {
    try locked { () throws(MessageSendingError) in try body(load(isNew: false)) }
  }

  /// Loads, changes and saves under one lock, and saves also what has not changed.
  private func changing<R>(
    _ body: (inout QueueContents) throws(MessageSendingError) -> R
  ) throws(MessageSendingError) -> R {
    try locked { () throws(MessageSendingError) in
      var contents = try load(isNew: false)
      let result = try body(&contents)
      try save(contents)
      return result
    }
  }

  /// Returns whether a message or cover was taken to be sent, and possibly seen.
  private func isTaken(_ head: SealedMessage) throws(MessageSendingError) -> Bool {
    do { return try taken.read() == Data(Sodium.sha256(head.bytes)) } catch { throw MessageSendingError(error) }
  }

  private func locked<R>(_ body: () throws(MessageSendingError) -> R) throws(MessageSendingError) -> R {
    try turn.withLock { _ throws(MessageSendingError) in
      let lock: FileLock?
      do throws(FileError) { lock = try FileLock(path: lockPath, attempts: lockAttempts) } catch {
        throw MessageSendingError(error)
      }
      guard let lock else {
        throw MessageSendingError(
          .busy, "lock \(lockPath): another process held it for more than \(lockAttempts * 5) ms")
      }
      defer { lock.release() }
      return try body()
    }
  }

  /// Reads the file; what is damaged or missing is replaced by covers, and reported.
  private func load(isNew: Bool) throws(MessageSendingError) -> QueueContents {
    let data: Data?
    do { data = try file.read() } catch { throw MessageSendingError(error) }
    guard let data else {
      let contents = try QueueContents(covers: covers)
      try save(contents)
      if !isNew {
        onProblem(MessageSendingError(.damagedFile, "the file \(path) was removed; the queue holds covers only"))
      }
      return contents
    }
    let problem: MessageSendingError
    do { return try QueueContents(fileBytes: [UInt8](data)) } catch { problem = error }
    // First the covers: without keys there are none, and then the file stays.
    let contents = try QueueContents(covers: covers)
    do { try file.setAside() } catch { throw MessageSendingError(error) }
    onProblem(
      MessageSendingError(
        .damagedFile, "the file \(path) is corrupt: \(problem.message); the queue holds covers only",
        hint: "the corrupt file is \(damagedPath) now"))
    try save(contents)
    return contents
  }

  private func save(_ contents: QueueContents) throws(MessageSendingError) {
    do {
      // What a crash left behind may have another mode, or be a link: a file of our own replaces it.
      try disk.remove(path + ".new")
      try file.write(Data(contents.fileBytes))
    } catch { throw MessageSendingError(error) }
  }
}
