internal import DurableFiles
import Glibc

extension SegmentFolder {
  /// Finishes the segments that were being written when a recorder ended, or could not be finished on a full disk.
  ///
  /// Audio that was being fetched from a device's store becomes segments, too.
  /// - Parameter report: A closure that is called with the error of each file that could not be read or finished; such
  ///   files stay where they are.
  /// - Returns: The segments that were finished.
  /// - Throws: ``AudioIngestError`` with code `.storage` if the folder cannot be read.
  public func recover(report: (AudioIngestError) -> Void = { _ in }) throws(AudioIngestError) -> [FinishedSegment] {
    var recovered: [FinishedSegment] = []
    let before = state.withLock { $0 }
    let names = try storage(disk.names(in: paths.open))
    for name in Set(names.compactMap(Self.stem)).sorted() where !before.open.contains(name) {
      do throws(AudioIngestError) {
        if let segment = try recover(name, before.unfinished[name]) { recovered.append(segment) }
        _ = state.withLock { $0.unfinished.removeValue(forKey: name) }
      } catch {
        report(error)
      }
    }
    return try recovered + recoverStored(report: report)
  }

  /// Finishes one segment.
  /// - Parameter known: The description of the segment, if this program wrote it.
  private func recover(_ name: String, _ known: SegmentInfo?) throws(AudioIngestError) -> FinishedSegment? {
    let log = try disk.contents(of: paths.log(name), limit: SegmentLog.limit)
    let isEmpty = try partIsEmpty(name)
    let isPublished = try storage(disk.exists(paths.wav(name)))
    if isEmpty || isPublished {
      try removeOpen(name)
      return nil
    }
    guard let info = known ?? log.flatMap(SegmentLog.read), info.name == name else {
      throw AudioIngestError(
        .damagedFile, "\(paths.log(name)) does not describe \(name).part",
        hint: "the samples are in \(paths.part(name)), behind \(WAVHeader.length) bytes")
    }
    return try publish(info)
  }

  /// Returns `true` if a part has no samples, or does not exist.
  private func partIsEmpty(_ name: String) throws(AudioIngestError) -> Bool {
    var status = stat()
    guard stat(paths.part(name), &status) == 0 else {
      if errno == ENOENT { return true }
      throw AudioIngestError(FileError("looking at \(paths.part(name))"))
    }
    return Int(status.st_size) <= WAVHeader.length
  }

  /// Returns the name of a segment, from the name of one of its open files.
  private static func stem(_ name: String) -> String? {
    guard number(of: name) != nil, let dot = name.lastIndex(of: ".") else { return nil }
    return String(name[..<dot])
  }

  // MARK: The devices whose store is being fetched

  func beginFetching(_ device: String) { _ = state.withLock { $0.fetching.insert(SegmentPaths.word(device)) } }
  func endFetching(_ device: String) { _ = state.withLock { $0.fetching.remove(SegmentPaths.word(device)) } }
  func isFetching(_ device: String) -> Bool { state.withLock { $0.fetching.contains(SegmentPaths.word(device)) } }
}
