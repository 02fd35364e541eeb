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
    let left = Set(names.compactMap(Self.stem)).subtracting(before.open).sorted()
    let (ends, copies) = carries(of: left, report)
    for name in left where !copies.contains(name) {
      do throws(AudioIngestError) {
        let known = before.unfinished[name]
        if let segment = try recover(name, known?.info, end: known?.end ?? ends[name]) { recovered.append(segment) }
        _ = state.withLock { $0.unfinished.removeValue(forKey: name) }
      } catch {
        report(error)
      }
    }
    try removeUnfinishedCopies()
    return try recovered + recoverStored(report: report)
  }

  /// Removes copies in other formats, and transcripts, that a program was writing when it ended; their names begin with a
  /// dot.
  private func removeUnfinishedCopies() throws(AudioIngestError) {
    // Those that appear later belong to programs that run.
    guard state.withLock({ !$0.isTidy }) else { return }
    for name in try storage(disk.names(in: path)) where name.hasPrefix(".") && Self.number(of: name) != nil {
      try storage(disk.remove(tree: path + "/" + name))
    }
    state.withLock { $0.isTidy = true }
  }

  /// Looks for segments that were to take over samples from the one before, and removes those that do not have all of
  /// them: the segment before has.
  /// - Returns: The positions from which on the samples of segments are in the next one, and the segments to leave alone.
  private func carries(
    of names: [String], _ report: (AudioIngestError) -> Void
  ) -> (ends: [String: Int], copies: Set<String>) {
    var ends: [String: Int] = [:]
    var copies: Set<String> = []
    for name in names {
      do throws(AudioIngestError) {
        let log = try disk.contents(of: paths.log(name), limit: SegmentLog.limit)
        guard let carry = log.flatMap(SegmentLog.carry) else { continue }
        if try partSamples(name) >= carry.samples {
          ends[carry.name] = carry.position
        } else {
          copies.insert(name)
          try removeOpen(name)
        }
      } catch {
        report(error)
      }
    }
    return (ends, copies)
  }

  /// Finishes one segment.
  /// - Parameters:
  ///   - name: The name of the segment.
  ///   - known: The description of the segment, if this program wrote it.
  ///   - end: The position from which on the samples are in the next segment.
  private func recover(
    _ name: String, _ known: SegmentInfo?, end: Int?
  ) throws(AudioIngestError) -> FinishedSegment? {
    let log = try disk.contents(of: paths.log(name), limit: SegmentLog.limit)
    let isEmpty = try partSamples(name) == 0
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
    return try publish(info, end: end)
  }

  /// Returns the number of samples in a part; 0 if it does not exist.
  private func partSamples(_ name: String) throws(AudioIngestError) -> Int {
    var status = stat()
    guard stat(paths.part(name), &status) == 0 else {
      if errno == ENOENT { return 0 }
      throw AudioIngestError(FileError("looking at \(paths.part(name))"))
    }
    return max(Int(status.st_size) - WAVHeader.length, 0) / 2
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
