internal import DurableFiles
import Glibc

/// Reads files piece by piece, with the errors of this library.
package enum FileReading {
  /// The number of bytes read at once.
  package static let pieceLength = 256 << 10

  /// Reads a part of a file and passes each piece to `body`.
  /// - Throws: ``UploadsError`` with code `.fileMissing`, `.fileChanged` if the file is shorter, or `.storage`; errors of
  ///   `body`; `CancellationError`.
  static func read(_ slice: FileSlice, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let file = try OpenFile(slice.path)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceLength, alignment: 16)
    defer { buffer.deallocate() }
    var offset = slice.offset
    let end = slice.offset + slice.length
    while offset < end {
      try Task.checkCancellation()
      let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(end - offset, Int64(buffer.count)))])
      let count = try file.read(piece, at: offset)
      try body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
      offset += Int64(count)
    }
  }

  /// Returns the length of a file.
  static func length(of path: String) throws(UploadsError) -> Int64 {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .disk("look at \(path)") }
    return Int64(status.st_size)
  }
}

/// A regular file that is open for reading.
package struct OpenFile: Sendable {
  private let path: String
  private let file: ReadableFile

  /// Opens a file.
  /// - Throws: ``UploadsError`` with code `.fileMissing`, `.storage`, or `.invalidArgument` for a folder, pipe or device.
  package init(_ path: String) throws(UploadsError) {
    self.path = path
    do throws(FileError) { file = try ReadableFile(path, followsLinks: true) } catch { throw UploadsError(error) }
    guard file.isRegular else {
      throw UploadsError(.invalidArgument, "\(path) is a folder, pipe or device; allowed: a regular file")
    }
  }

  /// Reads bytes that the file must have.
  /// - Returns: The number of bytes read, 1 or more.
  /// - Throws: ``UploadsError`` with code `.fileChanged` at the end of the file, or `.storage`.
  package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(UploadsError) -> Int {
    do throws(FileError) {
      let count = try file.read(buffer, at: offset)
      if count > 0 { return count }
    } catch { throw UploadsError(error) }
    throw UploadsError(.fileChanged, "\(path) has become shorter since it was queued")
  }

  /// Makes the file's contents durable.
  func sync() throws(UploadsError) {
    do throws(FileError) { try file.sync() } catch { throw UploadsError(error) }
  }
}

/// The identity of a file's contents, without reading them: device, inode, size and modification time.
enum Fingerprint {
  static func of(_ path: String) throws(UploadsError) -> String {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .disk("look at \(path)") }
    return text(status)
  }

  /// Returns the identity of a file that is not reached over a symbolic link.
  /// - Throws: ``UploadsError`` with code `.invalidArgument` for a link; `.fileMissing`, `.storage`.
  static func ofFileItself(_ path: String) throws(UploadsError) -> String {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw .disk("look at \(path)") }
    guard status.st_mode & S_IFMT != S_IFLNK else {
      throw UploadsError(.invalidArgument, "\(path) is a symbolic link, which a file of recordings is not")
    }
    return text(status)
  }

  private static func text(_ status: stat) -> String {
    let time = status.st_mtim
    return "\(status.st_dev):\(status.st_ino):\(status.st_size):\(time.tv_sec).\(time.tv_nsec)"
  }
}

extension UploadsError {
  /// Creates the error of a failed operation on a local file.
  static func disk(_ operation: String, _ number: Int32 = Glibc.errno) -> UploadsError {
    let code: Code =
      switch number {
      case ENOENT, ENOTDIR: .fileMissing
      case ENOSPC, EDQUOT, EFBIG: .noSpace
      default: .storage
      }
    return UploadsError(code, "\(operation): \(String(cString: strerror(number)))", errno: number)
  }

  init(_ failure: FileError) { self = .disk(failure.operation, failure.errno) }
}
