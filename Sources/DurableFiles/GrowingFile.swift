import Glibc

/// A file that grows at its end and is closed with the last reference to it.
package final class GrowingFile {
  /// The path it was opened with.
  package let path: String
  /// The length in bytes.
  package private(set) var length = 0
  private let disk: Disk
  private let file: Int32

  /// Opens a file for reading and appending, and creates it for its user only (mode 0600) if it does not exist.
  ///
  /// A symbolic link is not followed. A file that root creates belongs to the owner of its folder.
  /// - Parameters:
  ///   - path: The file.
  ///   - disk: The disk, on which a test can make steps fail.
  ///   - isContinued: Whether existing contents stay; otherwise a new file replaces an existing one.
  package convenience init(_ path: String, on disk: Disk, isContinued: Bool = false) throws(FileError) {
    try disk.check(.open, path)
    let (folder, name) = try FolderHandle.of(path, for: "opening \(path)")
    try self.init(name, in: folder, path: path, on: disk, isContinued: isContinued)
  }

  /// Opens a file of an open folder.
  init(
    _ name: String, in folder: FolderHandle, path: String, on disk: Disk, isContinued: Bool = false
  ) throws(FileError) {
    if !isContinued { try folder.remove(name, for: "replacing \(path)") }
    file = try folder.open(name, O_RDWR | O_CREAT | (isContinued ? 0 : O_EXCL), for: "opening \(path)")
    self.path = path
    self.disk = disk
    length = Int(lseek(file, 0, SEEK_END))
    guard length >= 0 else { throw FileError("looking at \(path)") }
  }

  deinit { close(file) }

  /// Appends all items. After an error a part may be there: ``length`` says how much.
  package func append(_ items: [some BitwiseCopyable]) throws(FileError) {
    try items.withUnsafeBufferPointer { items throws(FileError) in try append(UnsafeRawBufferPointer(items)) }
  }

  private func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    try disk.check(.write, path)
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      guard count > 0 || count < 0 && errno == EINTR else {
        throw FileError("writing \(path)", errno: count < 0 ? errno : ENOSPC)
      }
      rest = rest.dropFirst(max(count, 0))
      length += max(count, 0)
    }
  }

  /// Overwrites the beginning of the file.
  package func overwrite(_ bytes: [UInt8]) throws(FileError) {
    try disk.check(.write, path)
    guard pwrite(file, bytes, bytes.count, 0) == bytes.count else { throw FileError("writing \(path)") }
  }

  /// Drops everything after a length, for example half of a sample.
  package func truncate(to length: Int) throws(FileError) {
    try disk.check(.write, path)
    guard ftruncate(file, length) == 0, lseek(file, length, SEEK_SET) == length else {
      throw FileError("truncating \(path)")
    }
    self.length = length
  }

  /// Reads a range of bytes.
  /// - Returns: `count` bytes, or fewer where the file ends before.
  package func read(at offset: Int, _ count: Int) throws(FileError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress! + done, count - done, offset + done) }
      guard got >= 0 else { throw FileError("reading \(path)") }
      if got == 0 { break }
      done += got
    }
    return Array(bytes[..<done])
  }

  /// Syncs the file's contents to the disk.
  package func sync() throws(FileError) {
    try disk.check(.sync, path)
    guard fdatasync(file) == 0 else { throw FileError("writing \(path) to disk") }
  }
}
