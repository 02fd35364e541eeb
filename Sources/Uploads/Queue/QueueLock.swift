internal import FoundationEssentials
import Glibc

/// Keeps a second program from uploading the same queue. It is released when the program ends, however that is.
///
/// The file says how far the program that has it is.
struct QueueLock: Sendable {
  private let file: Int32

  /// How often it is tried, and how long it waits in between: somebody who only looks has it for an instant.
  private static let tries = 4
  private static let pause: useconds_t = 5000
  /// More is not read.
  private static let sizeLimit = 64 << 10

  /// Takes it; `nil` when another program has it.
  init?(path: String) throws(UploadsError) {
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .disk("opening \(path)") }
    for _ in 0..<Self.tries {
      if flock(file, LOCK_EX | LOCK_NB) == 0 {
        // What an earlier program has said.
        ftruncate(file, 0)
        return
      }
      guard errno == EWOULDBLOCK else {
        let number = errno
        close(file)
        throw .disk("locking \(path)", number)
      }
      usleep(Self.pause)
    }
    close(file)
    return nil
  }

  func release() {
    // Closing is not enough while a child that was just started still has a copy.
    flock(file, LOCK_UN)
    close(file)
  }

  /// Says how far this program is. On a full disk who looks sees less; nothing depends on it.
  func tell(_ uploader: QueueUploader) {
    do {
      let line = try JSONEncoder().encode(uploader) + Data("\n".utf8)
      _ = line.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
    } catch {
      // Numbers can be written.
    }
  }

  /// Who has it, and how far that one is; `nil` when nobody has it.
  static func holder(path: String) throws(UploadsError) -> QueueUploader? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw .disk("opening \(path)")
    }
    defer { close(file) }
    if flock(file, LOCK_SH | LOCK_NB) == 0 {
      flock(file, LOCK_UN)
      return nil
    }
    guard errno == EWOULDBLOCK else { throw .disk("looking at \(path)") }
    let bytes = [UInt8](unsafeUninitializedCapacity: sizeLimit) { buffer, count in
      count = max(pread(file, buffer.baseAddress, buffer.count, 0), 0)
    }
    do {
      return try JSONDecoder().decode(QueueUploader.self, from: Data(bytes.prefix { $0 != UInt8(ascii: "\n") }))
    } catch {
      // It has just begun, or is just writing.
      return QueueUploader()
    }
  }
}

/// The program that uploads a queue, and how far it is.
public struct QueueUploader: Sendable, Hashable, Codable {
  /// Its process's number; `nil` when it has not said so yet.
  public var processID: Int32?
  /// The bytes that it has handed to connections since it began.
  public var sentBytes: Int64 = 0
  /// The items under way, and how many bytes of each were sent.
  public var running: [Int64: Int64] = [:]
}

extension QueueStore {
  /// The program that uploads this queue at the moment, which may be this one; `nil` when none does.
  public var uploader: QueueUploader? {
    get throws(UploadsError) { try QueueLock.holder(path: lockPath) }
  }

  var lockPath: String { path + ".lock" }
}
