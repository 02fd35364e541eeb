package import FoundationEssentials
import Glibc

/// A small file that is whole at every moment, also after `kill -9` and when the disk is full: it is written beside, to
/// disk, and then takes the old one's name.
package struct WholeFile: Sendable {
  /// What went wrong, for the error of whoever keeps something in the file.
  package struct Failure: Error, Sendable {
    package let message: String
    package let errno: Int32

    package var hint: String? { errno == ENOENT ? "the folder has to be there" : nil }
  }

  /// Where it is; its folder is there.
  package let path: String
  /// The largest size that is read, in bytes.
  package let limit: Int

  /// Names the file; nothing is read yet.
  package init(path: String, limit: Int) {
    self.path = path
    self.limit = limit
  }

  /// Where the file is kept aside when it could not be understood. There is one such place: the newest takes it.
  package var damagedPath: String { path + ".damaged" }

  /// The bytes of the file, at most one more than the limit; `nil` when it is not there.
  package func read() throws(Failure) -> Data? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("opening \(path)")
    }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var filled = 0
    while filled < bytes.count {
      let count = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + filled, $0.count - filled) }
      guard count >= 0 else { throw failure("reading \(path)") }
      if count == 0 { break }
      filled += count
    }
    return Data(bytes[..<filled])
  }

  /// Gives the file the name ``damagedPath``, so that a person can look at it.
  package func keepAside() throws(Failure) {
    guard rename(path, damagedPath) == 0 else { throw failure("keeping \(path) aside") }
  }

  /// Replaces the file. When this returns it is on disk; when it throws, the file is the old one or the new one.
  package func write(_ data: Data) throws(Failure) {
    // One name, so that a crash leaves one such file at most.
    let new = path + ".new"
    try write(data, to: new)
    guard rename(new, path) == 0 else { throw failure("renaming \(new)") }
    try sync(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".")
  }

  private func write(_ data: Data, to new: String) throws(Failure) {
    let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("opening \(new)") }
    defer { close(file) }
    let bytes = [UInt8](data)
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress! + written, $0.count - written) }
      guard count > 0 else { throw failure("writing \(new)", count < 0 ? errno : ENOSPC) }
      written += count
    }
    guard fsync(file) == 0 else { throw failure("writing \(new) to disk") }
  }

  private func sync(_ folder: String) throws(Failure) {
    let file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0 else { throw failure("opening \(folder)") }
    defer { close(file) }
    guard fsync(file) == 0 else { throw failure("writing \(folder) to disk") }
  }

  private func failure(_ phase: String, _ number: Int32 = errno) -> Failure {
    Failure(message: "\(phase): \(String(cString: strerror(number)))", errno: number)
  }
}
