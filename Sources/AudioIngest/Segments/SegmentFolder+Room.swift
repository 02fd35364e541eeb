internal import DurableFiles
import Glibc

extension SegmentFolder {
  /// Marks a segment as delivered: from now on it may be removed when space is needed.
  /// - Throws: ``AudioIngestError``: `.noSuchSegment`, `.storage`, `.noSpace`.
  public func markDelivered(_ id: Int) throws(AudioIngestError) {
    let names = try storage(disk.names(in: path))
    guard let name = names.first(where: { $0.hasSuffix(".wav") && Self.number(of: $0) == id }) else {
      throw AudioIngestError(.noSuchSegment, "segment \(id) was not found in \(path)")
    }
    _ = try storage(GrowingFile(paths.delivered(String(name.dropLast(4))), on: disk))
    try storage(disk.sync(folder: path))
  }

  /// The space that a folder uses, and the free space of its disk.
  public struct Room: Sendable, Hashable {
    /// The total size of all files in the folder, in bytes.
    public var used: Int
    /// The free space of the folder's disk, in bytes, for users other than root.
    public var free: Int
  }

  /// Returns the space that the folder uses, and the free space of its disk.
  /// - Throws: ``AudioIngestError`` with code `.storage`.
  public func room() throws(AudioIngestError) -> Room { Room(used: try usage(), free: try free()) }

  /// Removes delivered segments, the oldest first, until the folder is within its limits.
  /// - Throws: ``AudioIngestError``: `.noSpace` if the remaining segments are not delivered yet, `.storage`.
  public func makeRoom() throws(AudioIngestError) {
    if let parent { return try parent.makeRoom() }
    guard try !hasRoom() else { return }
    // Names sort by time.
    let names = try storage(disk.names(in: path))
    for marker in names where marker.hasSuffix(".delivered") {
      let name = String(marker.dropLast(".delivered".count))
      // The WAV file first, so that none is ever without its sidecar, and the marker last.
      let others = names.filter { $0.hasPrefix(name + ".") }.map { path + "/" + $0 }
      for file in [paths.wav(name)] + others.filter({ $0 != paths.delivered(name) }) + [paths.delivered(name)] {
        try storage(disk.remove(file))
      }
      if try hasRoom() { return }
    }
    let used = try usage()
    throw AudioIngestError(
      .noSpace,
      used > limits.quota
        ? "the recordings in \(path) use \(used.inMiB), more than their quota of \(limits.quota.inMiB)"
        : "the disk of \(path) has less than \(limits.reserve.inMiB) of free space",
      hint: "upload or remove recordings, or raise the limit")
  }

  /// Returns `true` if the disk has more free space than the reserve; cheap enough for a call every second.
  func hasReserve() throws(AudioIngestError) -> Bool { try free() > limits.reserve }

  private func free() throws(AudioIngestError) -> Int {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { throw AudioIngestError(FileError("looking at the disk of \(path)")) }
    return Int(status.f_bavail) * Int(status.f_frsize)
  }

  private func hasRoom() throws(AudioIngestError) -> Bool {
    guard try hasReserve() else { return false }
    return try usage() <= limits.quota
  }

  private func usage() throws(AudioIngestError) -> Int {
    var total = 0
    for folder in [path, paths.open] {
      for name in try storage(disk.names(in: folder)) {
        var status = stat()
        // A file may have been removed since its name was read.
        if stat(folder + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG { total += Int(status.st_size) }
      }
    }
    return total
  }
}

extension Int {
  /// A number of bytes for display.
  fileprivate var inMiB: String { self < 1 << 20 ? "\(self) bytes" : "\(self >> 20) MiB" }
}
