internal import DurableFiles
internal import FoundationEssentials

/// The progress of the process that uploads a queue.
public struct QueueUploader: Sendable, Hashable, Codable {
  /// The process ID; `nil` if the process has not published it yet.
  public var processID: Int32?
  /// The number of bytes that the process has passed to its connections since it started.
  public var sentBytes: Int64 = 0
  /// The number of bytes sent of each item that is being uploaded, by item ID.
  public var running: [Int64: Int64] = [:]
}

extension QueueStore {
  /// The process that currently uploads this queue, which may be this one; `nil` if there is none.
  ///
  /// Reading it neither waits nor keeps a process from starting to upload.
  /// - Throws: ``UploadsError`` with code `.storage` if the lock file cannot be opened.
  public var uploader: QueueUploader? {
    get throws(UploadsError) { try QueueLock.holder(path: lockPath) }
  }

  var lockPath: String { path + ".lock" }
}

/// The lock that keeps a second process from uploading the same queue; its file holds the progress of the first.
struct QueueLock: Sendable {
  private let lock: FileLock

  /// A reader of the progress holds the lock for an instant.
  private static let attempts = 4
  private static let sizeLimit = 64 << 10

  /// Takes the lock.
  /// - Returns: `nil` if another process holds it.
  init?(path: String) throws(UploadsError) {
    do throws(FileError) {
      guard let lock = try FileLock(path: path, attempts: Self.attempts) else { return nil }
      lock.clear()
      self.lock = lock
    } catch {
      throw UploadsError(error)
    }
  }

  func release() { lock.release() }

  /// Publishes the progress of this process. On a full disk a reader sees less of it; nothing depends on it.
  func publish(_ uploader: QueueUploader) {
    do {
      lock.publish(Array(try JSONEncoder().encode(uploader) + Data("\n".utf8)))
    } catch {
      // Numbers can always be encoded.
    }
  }

  /// Returns the progress of the process that holds the lock; `nil` if none does.
  static func holder(path: String) throws(UploadsError) -> QueueUploader? {
    do throws(FileError) {
      guard try FileLock.isHeld(path: path) else { return nil }
      let bytes = try Disk().read(path, limit: sizeLimit, followsLinks: false) ?? []
      // A process that has just taken the lock, or is writing, has no whole line yet.
      return uploader(in: Data(bytes.prefix { $0 != UInt8(ascii: "\n") })) ?? QueueUploader()
    } catch {
      throw UploadsError(error)
    }
  }

  private static func uploader(in line: Data) -> QueueUploader? {
    do { return try JSONDecoder().decode(QueueUploader.self, from: line) } catch { return nil }
  }
}
