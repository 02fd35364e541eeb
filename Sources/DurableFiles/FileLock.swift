import Glibc
internal import Streams

/// An exclusive lock on a file between processes (`flock`), held until it is released or the process ends.
///
/// The kernel releases the lock however the process ends, `kill -9` included. The file stays: removing it would let two
/// processes lock two files of one name.
///
/// ```swift
/// guard let lock = try FileLock(path: "/tmp/edgeblue.lock") else {
///   print("another process holds the lock")
///   return
/// }
/// lock.release()
/// ```
public final class FileLock: Sendable {
  private let file: FileDescriptor

  /// Takes the lock, and creates the file for its user only (mode 0600) if it does not exist.
  ///
  /// A symbolic link is not followed. A file that root creates belongs to the owner of its folder.
  /// - Parameters:
  ///   - path: The file to lock.
  ///   - attempts: The number of attempts, 5 ms apart: a process that only looks holds the lock for an instant.
  /// - Returns: `nil` if another process, or another lock of this one, holds it.
  /// - Throws: ``FileError`` when the file cannot be opened or locked.
  public init?(path: String, attempts: Int = 1) throws(FileError) {
    // A link in its place would let the contents of any other file be replaced.
    let (folder, name) = try FolderHandle.of(path, for: "opening \(path)")
    let file = try folder.open(name, O_RDWR | O_CREAT, for: "opening \(path)")
    var left = max(attempts, 1)
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      let number = errno
      left -= 1
      if number == EWOULDBLOCK, left > 0 {
        usleep(5000)
        continue
      }
      close(file)
      guard number == EWOULDBLOCK else { throw FileError("locking \(path)", errno: number) }
      return nil
    }
    self.file = FileDescriptor(owning: file)
  }

  deinit { release() }

  /// Returns whether a process, which may be this one, holds the lock of a file.
  /// - Throws: ``FileError`` when the file exists and cannot be opened.
  public static func isHeld(path: String) throws(FileError) -> Bool {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return false }
      throw FileError("opening \(path)")
    }
    defer { close(file) }
    try FolderHandle.checkIsFile(file, for: "opening \(path)")
    if flock(file, LOCK_SH | LOCK_NB) == 0 {
      flock(file, LOCK_UN)
      return false
    }
    guard errno == EWOULDBLOCK else { throw FileError("looking at \(path)") }
    return true
  }

  /// Replaces what the locked file says, for processes that look; the contents are not durable.
  ///
  /// On a full disk a reader sees the old contents, or less: nothing may depend on them.
  package func publish(_ bytes: [UInt8]) { _ = file.withNumber { pwrite($0, bytes, bytes.count, 0) } }

  /// Empties the locked file of what an earlier holder published.
  package func clear() { _ = file.withNumber { ftruncate($0, 0) } }

  /// Releases the lock; further calls have no effect.
  public func release() {
    // Closing is not enough while a child that was just started still has a copy of the descriptor.
    _ = file.withNumber { flock($0, LOCK_UN) }
    file.close()
  }
}
