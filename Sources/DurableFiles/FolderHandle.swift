internal import CLinux
import Glibc

/// An open folder, whose files are reached by their names and not by a path.
///
/// Between two steps by path, the owner of a folder could put another folder, or a link to one, in its place.
final class FolderHandle: Sendable {
  /// The path by which the folder was opened.
  let path: String
  private let number: Int32
  /// The owner of the folder, to whom the files belong that root creates in it.
  private let owner: (user: uid_t, group: gid_t)

  /// `O_PATH`, which the Glibc module leaves out: a descriptor to reach names by, also without a permission to read.
  private static let onlyPath: Int32 = 0o10_000_000

  /// Opens a folder.
  /// - Parameters:
  ///   - path: The path of the folder; empty for the current one.
  ///   - operation: The operation that needs it, for the error.
  init(_ path: String, for operation: String) throws(FileError) {
    number = Glibc.open(path.isEmpty ? "." : path, Self.onlyPath | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw FileError(operation) }
    self.path = path
    var status = stat()
    // An open descriptor can always be looked at.
    _ = fstat(number, &status)
    owner = (status.st_uid, status.st_gid)
  }

  deinit { close(number) }

  /// Opens the folder of a file.
  /// - Returns: The folder, and the name of the file in it.
  static func of(_ file: String, for operation: String) throws(FileError) -> (folder: FolderHandle, name: String) {
    guard let slash = file.lastIndex(of: "/") else { return (try FolderHandle("", for: operation), file) }
    return (try FolderHandle(String(file[...slash]), for: operation), String(file[file.index(after: slash)...]))
  }

  /// Opens a file of the folder, without following a symbolic link; other users may not access a file that is created.
  ///
  /// What root creates, or finds as its own under this one name, belongs to the owner of the folder afterwards.
  /// - Parameters:
  ///   - name: The name of the file.
  ///   - flags: The flags of the call, such as `O_RDWR | O_CREAT`.
  func open(_ name: String, _ flags: Int32, for operation: String) throws(FileError) -> Int32 {
    let file = openat(number, name, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw FileError(operation) }
    do {
      try Self.checkIsFile(file, for: operation)
      if flags & O_ACCMODE != O_RDONLY { try adopt(file, for: operation) }
      return file
    } catch {
      close(file)
      throw error
    }
  }

  /// Refuses an open pipe, device or folder, which a program's own file never is.
  static func checkIsFile(_ file: Int32, for operation: String) throws(FileError) {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw FileError(operation) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw FileError(operation, errno: EINVAL) }
  }

  /// Gives a file of root to the owner of the folder, without opening it.
  /// - Throws: ``FileError`` if a symbolic link, or anything but a file, has its name.
  func adopt(_ name: String, for operation: String) throws(FileError) {
    var status = stat()
    guard fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { throw FileError(operation) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw FileError(operation, errno: ELOOP) }
    if try isForeign(status, for: operation) {
      _ = fchownat(number, name, owner.user, owner.group, AT_SYMLINK_NOFOLLOW)
    }
  }

  /// Gives a file or folder that root has opened to the owner of the folder.
  private func adopt(_ file: Int32, for operation: String) throws(FileError) {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw FileError(operation) }
    // Best effort: on a file system without owners there is nothing to give.
    if try isForeign(status, for: operation) { _ = fchown(file, owner.user, owner.group) }
  }

  /// Returns whether root has to give a file to the owner of the folder.
  /// - Throws: ``FileError`` if the owner of the folder can have given another's file a second name in it.
  private func isForeign(_ status: stat, for operation: String) throws(FileError) -> Bool {
    guard geteuid() == 0, owner.user != 0 else { return false }
    guard status.st_mode & S_IFMT == S_IFDIR || status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1 else {
      throw FileError(operation, errno: EMLINK)
    }
    return status.st_uid != owner.user
  }

  /// Creates a folder in this one for its user only (mode 0700), if it does not exist.
  func createFolder(_ name: String, for operation: String) throws(FileError) {
    if mkdirat(number, name, 0o700) != 0 {
      guard errno == EEXIST else { throw FileError(operation) }
      return
    }
    guard geteuid() == 0, owner.user != 0 else { return }
    let created = openat(number, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard created >= 0 else { throw FileError(operation) }
    defer { close(created) }
    try adopt(created, for: operation)
  }

  /// Renames a file of the folder, which replaces a file of the new name.
  func rename(
    _ name: String, to new: String, in other: FolderHandle, for operation: String
  ) throws(FileError) {
    guard renameat(number, name, other.number, new) == 0 else { throw FileError(operation) }
  }

  /// Renames a file of the folder, unless something has the new name.
  /// - Returns: `false` if something has it.
  func renameIfAbsent(
    _ name: String, to new: String, in other: FolderHandle, for operation: String
  ) throws(FileError) -> Bool {
    if renameat2(number, name, other.number, new, edgeblue_rename_noreplace) == 0 { return true }
    if errno == EEXIST { return false }
    // NFS and some FUSE file systems cannot do both in one step.
    guard errno == EINVAL else { throw FileError(operation) }
    var status = stat()
    if fstatat(other.number, new, &status, AT_SYMLINK_NOFOLLOW) == 0 { return false }
    guard errno == ENOENT else { throw FileError(operation) }
    try rename(name, to: new, in: other, for: operation)
    return true
  }

  /// Removes a file of the folder, if it exists.
  func remove(_ name: String, for operation: String) throws(FileError) {
    guard unlinkat(number, name, 0) == 0 || errno == ENOENT else { throw FileError(operation) }
  }
}
