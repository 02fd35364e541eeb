public import FoundationEssentials
internal import Glibc

/// A small file that is whole at every moment, also after `kill -9`, a power cut and on a full disk.
///
/// ``write(_:)`` writes a temporary file beside it, syncs that, renames it and syncs the folder. When it returns, the
/// new contents are durable; when it throws, the file has the old contents or the new ones.
///
/// ```swift
/// let file = WholeFile(path: "/tmp/mode.json", limit: 4096)
/// try file.write(Data(#"{"mode": "local"}"#.utf8))
/// if let data = try file.read(), data.count <= file.limit { print(data) }
/// ```
public struct WholeFile: Sendable {
  /// The path of the file, in a folder that exists.
  public let path: String
  /// The largest size in bytes that is read.
  public let limit: Int
  private let disk: Disk

  /// Creates a reference to a file without accessing the disk.
  /// - Parameters:
  ///   - path: The path of the file, in a folder that exists.
  ///   - limit: The largest size in bytes that is read.
  public init(path: String, limit: Int) { self.init(path: path, limit: limit, disk: Disk()) }

  /// Creates a reference to a file on a disk whose steps a test can make fail.
  package init(path: String, limit: Int, disk: Disk) {
    self.path = path
    self.limit = limit
    self.disk = disk
  }

  /// The identity of the contents: a file that was replaced has another one.
  package struct Stamp: Sendable, Hashable {
    var inode: UInt64
    var seconds: Int
    var nanoseconds: Int
    var size: Int

    /// A Boolean value that indicates whether the file has no bytes.
    package var isEmpty: Bool { size == 0 }
  }

  /// Returns the identity of the present contents; `nil` if the file does not exist.
  /// - Throws: ``FileError`` when the file exists and cannot be looked at.
  package func stamp() throws(FileError) -> Stamp? {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return nil }
      throw FileError("looking at \(path)")
    }
    return Stamp(
      inode: UInt64(status.st_ino), seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec,
      size: Int(status.st_size))
  }

  /// The path that ``setAside()`` gives a damaged file; a newer damaged file replaces an older one.
  public var damagedPath: String { path + ".damaged" }

  /// Reads the contents of the file; a symbolic link is not followed.
  /// - Returns: The bytes, at most one more than ``limit``, so that a caller can tell a file that is too long;
  ///   `nil` if the file does not exist.
  /// - Throws: ``FileError`` when the file exists and cannot be read.
  public func read() throws(FileError) -> Data? {
    try disk.read(path, limit: limit, followsLinks: false).map { Data($0) }
  }

  /// Renames the file to ``damagedPath``, so that a user can look at it.
  /// - Throws: ``FileError``.
  public func setAside() throws(FileError) { try disk.rename(path, to: damagedPath) }

  /// Replaces the contents of the file durably.
  /// - Throws: ``FileError``; the file then has the old contents or the new ones.
  public func write(_ data: Data) throws(FileError) {
    // One name, so that a crash leaves one such file at most.
    let temporary = path + ".new"
    do throws(FileError) {
      try disk.replace(path, with: [UInt8](data), by: temporary)
    } catch {
      // The first error is thrown; what stays is replaced by the next write.
      try? disk.remove(temporary)
      throw error
    }
    try disk.sync(folder: path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".")
  }

  /// Removes the file, if it exists.
  /// - Throws: ``FileError``.
  public func remove() throws(FileError) { try disk.remove(path) }
}
