import Glibc

/// A kind of operation on the disk that a test can make fail.
package enum DiskStep: Hashable, Sendable { case open, write, sync, rename, remove }

/// The operations on files and folders that durable state needs, each of which a test can make fail.
///
/// Every operation that changes the disk calls ``fault`` first. Nothing is durable before the file (``GrowingFile/sync()``)
/// and the folder that names it (``sync(folder:)``) are synced.
package struct Disk: Sendable {
  /// A closure that runs before each step with the step and the path; a non-nil result fails the step with that error
  /// number.
  package var fault: @Sendable (DiskStep, String) -> Int32?

  /// Creates a disk; without a `fault` it is the machine's.
  package init(fault: @escaping @Sendable (DiskStep, String) -> Int32? = { _, _ in nil }) { self.fault = fault }

  func check(_ step: DiskStep, _ path: String) throws(FileError) {
    if let number = fault(step, path) { throw FileError("\(step) \(path)", errno: number) }
  }

  /// Writes a file under a temporary name, syncs it and renames it over `path`, which is whole at every moment.
  ///
  /// The new name is durable only after ``sync(folder:)``.
  /// - Throws: ``FileError``; the file at `path` is then the old one or the new one.
  package func replace(
    _ path: String, with bytes: [UInt8], by temporary: String
  ) throws(FileError) {
    try check(.open, temporary)
    let (folder, name) = try FolderHandle.of(temporary, for: "opening \(temporary)")
    let file = try GrowingFile(name, in: folder, path: temporary, on: self)
    try file.append(bytes)
    try file.sync()
    try check(.rename, temporary)
    let operation = "renaming \(temporary)"
    let (target, newName) = try FolderHandle.of(path, for: operation)
    try folder.rename(name, to: newName, in: target.path == folder.path ? folder : target, for: operation)
  }

  /// Renames a file, which replaces a file of the new name.
  package func rename(_ path: String, to new: String) throws(FileError) {
    try check(.rename, path)
    let (folder, name) = try FolderHandle.of(path, for: "renaming \(path)")
    let (newFolder, newName) = try FolderHandle.of(new, for: "renaming \(path)")
    try folder.rename(name, to: newName, in: newFolder, for: "renaming \(path)")
  }

  /// Renames a file, unless something has the new name.
  /// - Returns: `false` if something has it.
  package func renameIfAbsent(_ path: String, to new: String) throws(FileError) -> Bool {
    try check(.rename, path)
    let (folder, name) = try FolderHandle.of(path, for: "renaming \(path)")
    let (newFolder, newName) = try FolderHandle.of(new, for: "renaming \(path)")
    return try folder.renameIfAbsent(name, to: newName, in: newFolder, for: "renaming \(path)")
  }

  /// Removes a file, if it exists.
  package func remove(_ path: String) throws(FileError) {
    try check(.remove, path)
    guard unlink(path) == 0 || errno == ENOENT else { throw FileError("removing \(path)") }
  }

  /// Removes a folder with its contents, if it exists; symbolic links in it are removed, not followed.
  package func remove(tree path: String) throws(FileError) {
    guard try exists(path) else { return }
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return try remove(path) }
    for name in try names(in: path) { try remove(tree: path + "/" + name) }
    try check(.remove, path)
    guard rmdir(path) == 0 || errno == ENOENT else { throw FileError("removing \(path)") }
  }

  /// Returns whether a file, folder or symbolic link of this name exists.
  package func exists(_ path: String) throws(FileError) -> Bool {
    var status = stat()
    if lstat(path, &status) == 0 { return true }
    guard errno == ENOENT else { throw FileError("looking at \(path)") }
    return false
  }

  /// Syncs a folder, which makes the names in it durable.
  package func sync(folder: String) throws(FileError) {
    try check(.sync, folder)
    let file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0 else { throw FileError("opening \(folder)") }
    defer { close(file) }
    guard fsync(file) == 0 else { throw FileError("writing \(folder) to disk") }
  }

  /// Creates a folder for its user only (mode 0700), with the folders above it.
  ///
  /// What root creates belongs to the owner of the folder above it.
  package func createFolder(_ folder: String) throws(FileError) {
    var path = folder
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
    let operation = "creating the folder \(folder)"
    if let slash = path.lastIndex(of: "/"), slash > path.startIndex { try createFolder(String(path[..<slash])) }
    let (parent, name) = try FolderHandle.of(path, for: operation)
    try parent.createFolder(name, for: operation)
  }

  /// Returns whether every user of the host may replace the files of a folder.
  package func isOpenToAll(_ folder: String) throws(FileError) -> Bool {
    var status = stat()
    guard stat(folder, &status) == 0 else { throw FileError("looking at \(folder)") }
    return status.st_mode & S_IWOTH != 0
  }

  /// Creates an empty file for its user only (mode 0600), if it does not exist, for a database to open by path.
  ///
  /// An existing file is not opened: closing it would release the locks that a database of this process has on it.
  /// - Throws: ``FileError`` if a symbolic link, or anything but a file, has its name.
  package func claim(_ path: String) throws(FileError) {
    try check(.open, path)
    let operation = "opening \(path)"
    let (folder, name) = try FolderHandle.of(path, for: operation)
    do throws(FileError) {
      close(try folder.open(name, O_RDWR | O_CREAT | O_EXCL, for: operation))
    } catch {
      guard error.errno == EEXIST else { throw error }
      try folder.adopt(name, for: operation)
    }
  }

  /// Allocates space under a name, unless a file of this name exists.
  /// - Throws: ``FileError``; no file is left then.
  package func reserve(_ path: String, _ length: Int) throws(FileError) {
    let operation = "reserving \(path)"
    let (folder, name) = try FolderHandle.of(path, for: operation)
    let file: Int32
    do throws(FileError) {
      file = try folder.open(name, O_WRONLY | O_CREAT | O_EXCL, for: operation)
    } catch {
      if error.errno == EEXIST { return }
      throw error
    }
    defer { close(file) }
    let number = posix_fallocate(file, 0, length)
    guard number == 0 else {
      try folder.remove(name, for: operation)
      throw FileError(operation, errno: number)
    }
  }

  /// Returns the names in a folder, sorted.
  package func names(in folder: String) throws(FileError) -> [String] {
    guard let stream = opendir(folder) else { throw FileError("reading the folder \(folder)") }
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

  /// Reads a whole file.
  /// - Parameters:
  ///   - path: The file; a pipe or device is read without waiting.
  ///   - limit: The largest size in bytes.
  ///   - followsLinks: Whether the file may be a symbolic link, a pipe or a device, as one that a person names. State is
  ///     in files of its folder alone.
  /// - Returns: The bytes, at most one more than the limit, so that a caller can tell a file that is too long;
  ///   `nil` if the file does not exist.
  package func read(_ path: String, limit: Int, followsLinks: Bool) throws(FileError) -> [UInt8]? {
    // A non-blocking open: a pipe in the file's place would wait for a writer.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw FileError("opening \(path)")
    }
    defer { close(file) }
    if !followsLinks { try FolderHandle.checkIsFile(file, for: "opening \(path)") }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: min(limit + 1, 65_536))
    while bytes.count <= limit {
      let count = Glibc.read(file, &buffer, min(buffer.count, limit + 1 - bytes.count))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw FileError("reading \(path)") }
      if count == 0 { break }
      bytes += buffer[..<count]
    }
    return bytes
  }
}
