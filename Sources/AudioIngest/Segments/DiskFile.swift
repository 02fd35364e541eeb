internal import DurableFiles
import Glibc

/// What is done to files, so that a test can have each of these fail.
enum DiskStep: Hashable { case open, write, sync, rename, remove }

/// The disk, with errors that name what was done, and a place where tests make them.
struct Disk: Sendable {
  /// Asked before each step; an error number makes it fail with that.
  var fault: @Sendable (DiskStep, String) -> Int32? = { _, _ in nil }

  func check(_ step: DiskStep, _ path: String) throws(AudioIngestError) {
    if let number = fault(step, path) { throw .disk("\(step) \(path)", number) }
  }

  /// Writes a file beside the one of this name, to disk, and then gives it the name: it is whole at every moment.
  func replace(_ path: String, with bytes: [UInt8], by temporary: String) throws(AudioIngestError) {
    let file = try DiskFile(temporary, self)
    try file.append(bytes)
    try file.sync()
    try rename(temporary, to: path)
  }

  func rename(_ path: String, to new: String) throws(AudioIngestError) {
    try check(.rename, path)
    guard Glibc.rename(path, new) == 0 else { throw .disk("renaming \(path)") }
  }

  /// Removes a file; one that is not there is no error.
  func remove(_ path: String) throws(AudioIngestError) {
    try check(.remove, path)
    guard unlink(path) == 0 || errno == ENOENT else { throw .disk("removing \(path)") }
  }

  /// Removes a folder and all that is in it; one that is not there is no error.
  func remove(tree path: String) throws(AudioIngestError) {
    guard try has(path) else { return }
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return try remove(path) }
    for name in try names(in: path) { try remove(tree: path + "/" + name) }
    try check(.remove, path)
    guard rmdir(path) == 0 || errno == ENOENT else { throw .disk("removing \(path)") }
  }

  /// Whether there is something of this name.
  func has(_ path: String) throws(AudioIngestError) -> Bool {
    var status = stat()
    if lstat(path, &status) == 0 { return true }
    guard errno == ENOENT else { throw .disk("looking at \(path)") }
    return false
  }

  /// Has a folder's names on disk.
  func sync(folder: String) throws(AudioIngestError) {
    try check(.sync, folder)
    let file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0 else { throw .disk("opening \(folder)") }
    defer { close(file) }
    guard fsync(file) == 0 else { throw .disk("writing \(folder) to disk") }
  }

  func make(folder: String) throws(AudioIngestError) {
    if mkdir(folder, 0o700) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let slash = folder.lastIndex(of: "/"), slash > folder.startIndex else {
      throw .disk("making the folder \(folder)")
    }
    try make(folder: String(folder[..<slash]))
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .disk("making the folder \(folder)") }
  }

  /// The names in a folder, sorted.
  func names(in folder: String) throws(AudioIngestError) -> [String] {
    guard let stream = opendir(folder) else { throw .disk("reading the folder \(folder)") }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// The bytes of a file, `nil` when it is not there.
  /// - Throws: ``AudioIngestError``: `.damagedFile` when it is longer than the limit, `.storage`.
  func read(_ path: String, limit: Int) throws(AudioIngestError) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw .disk("opening \(path)")
    }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(file, &buffer, buffer.count)
      guard count >= 0 else { throw .disk("reading \(path)") }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw AudioIngestError(.damagedFile, "\(path) is longer than \(limit) bytes") }
    }
  }
}

/// A file that grows. It is closed with the last reference.
final class DiskFile {
  let path: String
  /// How many bytes it has.
  private(set) var length = 0
  private let disk: Disk
  private let file: Int32

  /// - Parameter isContinued: whether what there is of it stays; otherwise the file is new.
  init(_ path: String, _ disk: Disk, isContinued: Bool = false) throws(AudioIngestError) {
    try disk.check(.open, path)
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (isContinued ? 0 : O_TRUNC), 0o600)
    guard file >= 0 else { throw .disk("opening \(path)") }
    (self.path, self.disk) = (path, disk)
    length = Int(lseek(file, 0, SEEK_END))
    guard length >= 0 else { throw .disk("looking at \(path)") }
  }

  deinit { close(file) }

  /// Writes all of it at the end. When it throws, a part may be there: ``length`` says how much.
  func append(_ items: [some BitwiseCopyable]) throws(AudioIngestError) {
    try items.withUnsafeBufferPointer { items throws(AudioIngestError) in try append(UnsafeRawBufferPointer(items)) }
  }

  private func append(_ bytes: UnsafeRawBufferPointer) throws(AudioIngestError) {
    try disk.check(.write, path)
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      guard count > 0 || count < 0 && errno == EINTR else { throw .disk("writing \(path)", count < 0 ? errno : ENOSPC) }
      rest = rest.dropFirst(max(count, 0))
      length += max(count, 0)
    }
  }

  /// Writes over what is at the beginning.
  func overwrite(_ bytes: [UInt8]) throws(AudioIngestError) {
    try disk.check(.write, path)
    guard pwrite(file, bytes, bytes.count, 0) == bytes.count else { throw .disk("writing \(path)") }
  }

  /// Drops what is behind a length, such as half of a sample.
  func truncate(to length: Int) throws(AudioIngestError) {
    try disk.check(.write, path)
    guard ftruncate(file, length) == 0, lseek(file, length, SEEK_SET) == length else { throw .disk("cutting \(path)") }
    self.length = length
  }

  /// Reads so many bytes.
  /// - Throws: ``AudioIngestError``: `.damagedFile` when there are not so many, `.storage`.
  func read(at offset: Int, _ count: Int) throws(AudioIngestError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress! + done, count - done, offset + done) }
      guard got >= 0 else { throw .disk("reading \(path)") }
      guard got > 0 else { throw AudioIngestError(.damagedFile, "\(path) ends within what was written to it") }
      done += got
    }
    return bytes
  }

  /// Has its bytes on disk.
  func sync() throws(AudioIngestError) {
    try disk.check(.sync, path)
    guard fdatasync(file) == 0 else { throw .disk("writing \(path) to disk") }
  }
}

extension AudioIngestError {
  static func disk(_ phase: String, _ number: Int32 = Glibc.errno) -> AudioIngestError {
    let isFull = [ENOSPC, EDQUOT, EFBIG].contains(number)
    return AudioIngestError(
      isFull ? .noSpace : .storage, "\(phase): \(String(cString: strerror(number)))", errno: number,
      hint: isFull ? "make room, or have the recordings uploaded" : nil)
  }
}
