package import DurableFiles
internal import Streams

/// A folder of received messages, in files of messages one after the other.
///
/// A message is on disk when ``append(_:)`` returns. A segment grows under the name `messages-00000001.part` and gets the
/// name `messages-00000001.box` when it is finished; finished segments never change. Nothing besides the messages is
/// stored: no sender, no time.
///
/// ```swift
/// let segments = try MessageSegments(folder: "/var/lib/edgeblue/collected")
/// try segments.append(try SealedMessage(bytes: [UInt8](repeating: 7, count: SealedMessage.byteCount)))
/// try segments.finish()
/// ```
public final class MessageSegments: Sendable {
  private struct State {
    var file: GrowingFile?
    var number: Int
  }

  /// The folder of the segments.
  public let folder: String
  /// The number of messages after which a segment is finished.
  public let limit: Int
  private let disk: Disk
  private let ownership: FileLock
  // Sound: the file is used only with the lock held.
  private let state: Lock<State>

  /// Opens the folder, creates it if it does not exist, and removes half a message that a crash left at the end.
  /// - Parameters:
  ///   - folder: The folder, which belongs to this process while the object exists.
  ///   - limit: The number of messages after which a segment is finished, 1 or more: 1024 by default.
  /// - Throws: ``MessageSendingError`` with code `.storage`, or `.busy` if another process has the folder.
  public convenience init(folder: String, limit: Int = 1024) throws(MessageSendingError) {
    try self.init(folder: folder, limit: limit, disk: Disk())
  }

  /// Opens the folder on a disk whose steps a test can make fail.
  package init(folder: String, limit: Int, disk: Disk) throws(MessageSendingError) {
    self.folder = folder
    self.limit = max(limit, 1)
    self.disk = disk
    do throws(FileError) {
      try disk.createFolder(folder)
      guard let ownership = try FileLock(path: folder + "/lock") else { throw FileError("locking \(folder)", errno: 0) }
      self.ownership = ownership
      let numbers = try Self.numbers(in: folder, on: disk)
      let last = numbers.max() ?? 1
      let isOpen = try disk.exists(Self.path(folder, last, isFinished: false))
      var state = State(file: nil, number: isOpen || numbers.isEmpty ? last : last + 1)
      if isOpen { state.file = try Self.open(folder, last, disk) }
      self.state = Lock(state)
    } catch {
      guard error.errno != 0 else {
        throw MessageSendingError(.busy, "another process stores messages in \(folder)")
      }
      throw MessageSendingError(error)
    }
  }

  /// Appends a message, which is on disk when this returns.
  /// - Throws: ``MessageSendingError`` with code `.storage`; the message is then not in the segment.
  public func append(_ message: SealedMessage) throws(MessageSendingError) {
    try change { state throws(FileError) in
      let file: GrowingFile
      if let open = state.file { file = open } else { file = try Self.open(folder, state.number, disk) }
      state.file = file
      let length = file.length
      do throws(FileError) {
        try file.append(message.bytes)
        try file.sync()
      } catch {
        // Closed, so that the next message opens the file again, where half a message is removed.
        state.file = nil
        try file.truncate(to: length)
        throw error
      }
      if file.length >= limit * SealedMessage.byteCount { try finish(&state) }
    }
  }

  /// Finishes the segment that grows, if it contains a message, so that it can be read and uploaded.
  /// - Throws: ``MessageSendingError`` with code `.storage`.
  public func finish() throws(MessageSendingError) {
    try change { state throws(FileError) in
      if let file = state.file, file.length > 0 { try finish(&state) }
    }
  }

  /// The paths of the finished segments, the oldest first.
  /// - Throws: ``MessageSendingError`` with code `.storage`.
  public var finished: [String] {
    get throws(MessageSendingError) { try Self.paths(in: folder).filter { $0.hasSuffix(".box") } }
  }

  /// Returns the paths of all segments in a folder, the oldest first, also while a collector appends to the last one.
  /// - Throws: ``MessageSendingError`` with code `.storage`.
  public static func paths(in folder: String) throws(MessageSendingError) -> [String] {
    do throws(FileError) {
      return try Disk().names(in: folder)
        .filter { $0.hasPrefix("messages-") && ($0.hasSuffix(".box") || $0.hasSuffix(".part")) }
        .map { folder + "/" + $0 }
    } catch {
      throw MessageSendingError(error)
    }
  }

  /// Calls a closure with each whole message of a segment, without reading the file at once.
  /// - Throws: ``MessageSendingError`` with code `.storage`, or the closure's error.
  public static func read(_ path: String, _ body: (SealedMessage) throws -> Void) throws {
    do {
      let file = try ReadableFile(path, followsLinks: true)
      var buffer = [UInt8](repeating: 0, count: SealedMessage.byteCount)
      var offset: Int64 = 0
      while try buffer.withUnsafeMutableBytes({ try file.read($0, at: offset) }) == SealedMessage.byteCount {
        try body(SealedMessage(checked: buffer))
        offset += Int64(SealedMessage.byteCount)
      }
    } catch let error as FileError {
      throw MessageSendingError(error)
    }
  }

  private func change(_ body: (inout State) throws(FileError) -> Void) throws(MessageSendingError) {
    do throws(FileError) {
      try state.withLock(body)
    } catch {
      throw MessageSendingError(error)
    }
  }

  private func finish(_ state: inout State) throws(FileError) {
    state.file = nil
    try disk.rename(
      Self.path(folder, state.number, isFinished: false), to: Self.path(folder, state.number, isFinished: true))
    state.number += 1
    try disk.sync(folder: folder)
  }

  private static func open(_ folder: String, _ number: Int, _ disk: Disk) throws(FileError) -> GrowingFile {
    let file = try GrowingFile(path(folder, number, isFinished: false), on: disk, isContinued: true)
    let whole = file.length - file.length % SealedMessage.byteCount
    if file.length != whole { try file.truncate(to: whole) }
    try disk.sync(folder: folder)
    return file
  }

  private static func path(_ folder: String, _ number: Int, isFinished: Bool) -> String {
    let digits = "\(number)"
    let padding = String(repeating: "0", count: max(8 - digits.count, 0))
    return "\(folder)/messages-\(padding)\(digits).\(isFinished ? "box" : "part")"
  }

  /// The numbers of the segments. Files of other names, and with numbers that no collector reaches, are not segments.
  private static func numbers(in folder: String, on disk: Disk) throws(FileError) -> [Int] {
    try disk.names(in: folder).compactMap { name in
      let parts = name.split(separator: ".")
      guard parts.count == 2, name.hasPrefix("messages-"), ["box", "part"].contains(parts[1]),
        let number = Int(parts[0].dropFirst("messages-".count)), (0..<1 << 40).contains(number),
        path(folder, number, isFinished: parts[1] == "box") == "\(folder)/\(name)"
      else { return nil }
      return number
    }
  }
}
