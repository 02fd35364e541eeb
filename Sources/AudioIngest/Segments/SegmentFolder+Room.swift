import Glibc

extension SegmentFolder {
  /// Says that a segment was delivered: from now on it may go when room is needed.
  /// - Throws: ``AudioIngestError``: `.noSuchSegment`, `.storage`.
  public func markDelivered(_ id: Int) throws(AudioIngestError) {
    guard let name = try disk.names(in: path).first(where: { $0.hasSuffix(".wav") && Self.number(of: $0) == id }) else {
      throw AudioIngestError(.noSuchSegment, "there is no segment \(id) in \(path)")
    }
    _ = try DiskFile(paths.delivered(String(name.dropLast(4))), disk)
    try disk.sync(folder: path)
  }

  /// How much room there is.
  public struct Room: Sendable, Hashable {
    /// The bytes of all files of the folder.
    public var used: Int
    /// The bytes that are free on its disk, for who is not root.
    public var free: Int
  }

  /// Looks at each file of the folder, and at its disk.
  /// - Throws: ``AudioIngestError`` with code `.storage`.
  public func room() throws(AudioIngestError) -> Room { Room(used: try usage(), free: try free()) }

  /// Sees to it that there is room: delivered segments go, the oldest first, until what is left is within the limits.
  /// - Throws: ``AudioIngestError``: `.noSpace` when the rest is not delivered yet, `.storage`.
  public func makeRoom() throws(AudioIngestError) {
    if let parent { return try parent.makeRoom() }
    guard try !hasRoom() else { return }
    // Names sort as time does.
    for marker in try disk.names(in: path) where marker.hasSuffix(".delivered") {
      let name = String(marker.dropLast(".delivered".count))
      // The WAV file first, so that none is ever without its sidecar.
      for file in [paths.wav(name), paths.sidecar(name), paths.delivered(name)] { try disk.remove(file) }
      if try hasRoom() { return }
    }
    let used = try usage()
    throw AudioIngestError(
      .noSpace,
      used > limits.quota
        ? "the recordings in \(path) take \(used.inMiB), more than their quota of \(limits.quota.inMiB)"
        : "the disk of \(path) has less than \(limits.reserve.inMiB) left",
      hint: "have them uploaded, remove some, or raise the limit")
  }

  /// Whether the disk has more left than the reserve. Cheap enough to be asked every second.
  func hasReserve() throws(AudioIngestError) -> Bool { try free() > limits.reserve }

  private func free() throws(AudioIngestError) -> Int {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { throw .disk("looking at the disk of \(path)") }
    return Int(status.f_bavail) * Int(status.f_frsize)
  }

  private func hasRoom() throws(AudioIngestError) -> Bool {
    guard try hasReserve() else { return false }
    return try usage() <= limits.quota
  }

  private func usage() throws(AudioIngestError) -> Int {
    var total = 0
    for (folder, names) in [(path, try disk.names(in: path)), (paths.open, try disk.names(in: paths.open))] {
      for name in names {
        var status = stat()
        // It may be gone since its name was read.
        if stat(folder + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG { total += Int(status.st_size) }
      }
    }
    return total
  }
}

extension Int {
  /// Bytes as a person reads them.
  fileprivate var inMiB: String { self < 1 << 20 ? "\(self) bytes" : "\(self >> 20) MiB" }
}
