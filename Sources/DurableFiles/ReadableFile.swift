import Glibc
internal import Streams

/// A file that is open for reading at any offset, for files too large to read at once.
package final class ReadableFile: Sendable {
  private let path: String
  private let file: FileDescriptor
  /// A Boolean value that indicates whether the path names a regular file, and not a folder, pipe or device.
  package let isRegular: Bool

  /// Opens a file.
  /// - Parameters:
  ///   - path: The file.
  ///   - followsLinks: Whether the file may be a symbolic link, as one that a person names.
  /// - Throws: ``FileError`` if the file does not exist or may not be read.
  package init(_ path: String, followsLinks: Bool) throws(FileError) {
    // A non-blocking open: a pipe in the file's place would wait for a writer.
    let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
    guard number >= 0 else { throw FileError("opening \(path)") }
    self.path = path
    file = FileDescriptor(owning: number)
    var status = stat()
    isRegular = fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Reads bytes at an offset.
  /// - Returns: The number of bytes read, which may be less than the buffer's; 0 at the end of the file.
  /// - Throws: ``FileError``.
  package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileError) -> Int {
    let (count, number) =
      file.withNumber { file in
        var count = 0
        repeat {
          count = pread(file, buffer.baseAddress, buffer.count, off_t(offset))
        } while count < 0 && errno == EINTR
        return (count, errno)
      } ?? (-1, EBADF)
    guard count >= 0 else { throw FileError("reading \(path)", errno: number) }
    return count
  }

  /// Makes the file's contents durable.
  /// - Throws: ``FileError``.
  package func sync() throws(FileError) {
    guard file.withNumber({ fsync($0) }) == 0 else { throw FileError("writing \(path) to disk") }
  }
}
