package import DurableFiles
import Glibc

/// A file with a secret key of a fixed size, for its user only (mode 0600).
///
/// The file is not encrypted: it is for the keys of recipients and roots on their own machines. The secret of the queue
/// is in the vault.
public struct SecretFile: Sendable {
  /// The path of the file.
  public let path: String
  private let disk: Disk

  /// Creates a reference to a file without accessing the disk.
  public init(path: String) { self.init(path: path, disk: Disk()) }

  package init(path: String, disk: Disk) {
    self.path = path
    self.disk = disk
  }

  /// Reads the secret into locked memory.
  /// - Parameter count: The number of bytes that the file must have, such as ``BoxSecretKey/byteCount``.
  /// - Throws: ``MessageSendingError`` with code `.storage`, or `.damagedFile` for another size, or for a file that
  ///   other users may read.
  public func read(count: Int) throws(MessageSendingError) -> SecretBytes {
    var found: [UInt8]
    do throws(FileError) {
      guard let bytes = try disk.read(path, limit: count, followsLinks: false) else {
        throw FileError("opening \(path)", errno: ENOENT)
      }
      found = bytes
    } catch { throw MessageSendingError(error) }
    defer { wipe(&found) }
    var status = stat()
    guard lstat(path, &status) == 0 else { throw MessageSendingError(FileError("looking at \(path)")) }
    guard status.st_mode & 0o077 == 0 else {
      throw MessageSendingError(
        .damagedFile, "other users may read the secret in \(path)", hint: "make it private: chmod 600 \(path)")
    }
    guard found.count == count else {
      throw MessageSendingError(.damagedFile, "the file \(path) does not have \(count) bytes")
    }
    return try SecretBytes(taking: &found)
  }

  /// Writes the secret durably; a file that exists is never replaced.
  /// - Throws: ``MessageSendingError`` with code `.storage`, with the error number `EEXIST` for a file that exists.
  public func write(_ secret: SecretBytes) throws(MessageSendingError) {
    var bytes = secret.withBytes { Array($0) }
    defer { wipe(&bytes) }
    do throws(FileError) {
      guard try !disk.exists(path) else { throw FileError("creating \(path)", errno: EEXIST) }
      try disk.remove(path + ".new")
      do throws(FileError) {
        try disk.replace(path, with: bytes, by: path + ".new")
      } catch {
        // The first error is thrown; what stays is removed by the next write.
        try? disk.remove(path + ".new")
        throw error
      }
      try disk.sync(folder: path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".")
    } catch { throw MessageSendingError(error) }
  }
}
