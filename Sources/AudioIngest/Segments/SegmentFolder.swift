import Glibc
internal import Streams

/// A folder of recordings. One program at a time records into it; several streams may.
///
/// What a name ending in `.wav` shows is whole and correct, and has a sidecar, at every moment: also after `kill -9`,
/// after a power cut and on a full disk. What was being written when a program ended becomes a segment with
/// ``recover(report:)``, and lacks at most the last second.
public final class SegmentFolder: Sendable {
  /// How much room recordings may take.
  public struct Limits: Sendable, Hashable {
    /// The bytes of all files of the folder. Beyond that delivered segments go, the oldest first; those that were not
    /// delivered stay, and nothing more is recorded.
    public var quota: Int
    /// The bytes that are left free on the disk, for everybody else.
    public var reserve: Int

    /// Makes limits; by default 8 GiB, which is three days of everything, and 64 MiB.
    public init(quota: Int = 8 << 30, reserve: Int = 64 << 20) {
      self.quota = quota
      self.reserve = reserve
    }
  }

  private struct State {
    /// The names of what is being written.
    var open: Set<String> = []
    /// What was written and could not be finished, such as for want of space.
    var unfinished: [String: SegmentInfo] = [:]
    /// The devices whose stored audio is being fetched.
    var fetching: Set<String> = []
  }

  /// Where it is.
  public let path: String
  /// How much room it may take.
  public let limits: Limits
  let paths: SegmentPaths
  let disk: Disk
  /// The folder whose recorder makes segments here, out of sight; `nil` for one of its own.
  let parent: SegmentFolder?
  private let lock: Int32
  private let state = Lock(State())
  /// The number of the next segment; held while one is taken.
  private let numbers = Lock(1)
  /// Held while the file of the devices is changed.
  let devices = Lock(())

  /// Takes a folder for this program; makes it, for its user only, if it is not there.
  /// - Throws: ``AudioIngestError``: `.busy` when another recorder has it, `.storage` when it cannot be used.
  public convenience init(path: String, limits: Limits = Limits()) throws(AudioIngestError) {
    try self.init(path: path, limits: limits, disk: Disk())
  }

  /// A folder within another one, for segments that are to appear there all at once, with ``adopt(_:)``: they are
  /// numbered and limited with its own. What a crash leaves of it is made again.
  convenience init(scratch path: String, of parent: SegmentFolder) throws(AudioIngestError) {
    try parent.disk.remove(tree: path)
    try self.init(path: path, limits: parent.limits, disk: parent.disk, parent: parent)
  }

  init(path: String, limits: Limits, disk: Disk, parent: SegmentFolder? = nil) throws(AudioIngestError) {
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    (self.path, self.limits, self.disk, self.parent) = (path, limits, disk, parent)
    paths = SegmentPaths(root: path)
    try disk.make(folder: paths.open)
    let file = open(paths.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .disk("opening \(paths.lock)") }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      let number = errno
      close(file)
      guard number == EWOULDBLOCK else { throw .disk("locking \(paths.lock)", number) }
      throw AudioIngestError(.busy, "another recorder has the folder \(path)", hint: "end it, or choose another folder")
    }
    lock = file
    let next = try nextNumber()
    numbers.withLock { $0 = next }
  }

  deinit {
    // A child that is just being started still has the descriptor, and would keep the folder until it runs its program.
    flock(lock, LOCK_UN)
    close(lock)
  }

  /// The first number that no segment had.
  private func nextNumber() throws(AudioIngestError) -> Int {
    let kept = try disk.read(paths.counter, limit: 64).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 1
    let names = try disk.names(in: path) + disk.names(in: paths.open)
    return max(kept, (names.compactMap(SegmentFolder.number).max() ?? 0) + 1)
  }

  /// The number in a file's name.
  static func number(of name: String) -> Int? {
    // 20261122T004512.345Z-000042.wav
    guard let dash = name.lastIndex(of: "-") else { return nil }
    let digits = name[dash...].dropFirst().prefix { $0 != "." }
    return digits.utf8.count >= 6 && digits.utf8.allSatisfy { 48...57 ~= $0 } ? Int(digits) : nil
  }

  // MARK: Writing

  /// Begins a segment.
  /// - Throws: ``AudioIngestError``: `.noSpace` when the disk or the quota is full, `.storage`.
  func begin(
    _ device: AudioDevice, _ codec: AudioCodec, capturedAtMs: Int64, previous: SegmentInfo.Previous?
  ) throws(AudioIngestError) -> PartFile {
    try makeRoom()
    let info = SegmentInfo(
      id: try takeNumber(), capturedAtMs: capturedAtMs, device: device, codec: codec, previous: previous)
    _ = state.withLock { $0.open.insert(info.name) }
    do throws(AudioIngestError) {
      return try PartFile(info, paths, disk)
    } catch {
      _ = state.withLock { $0.open.remove(info.name) }
      try? removeOpen(info.name)
      throw error
    }
  }

  /// Begins a file for what nobody here can decode; it is there from its first line on.
  func beginRaw(capturedAtMs: Int64) throws(AudioIngestError) -> RawFile {
    try makeRoom()
    let name = SegmentInfo.name(try takeNumber(), capturedAtMs)
    return try RawFile(paths.raw(name), disk)
  }

  private func takeNumber() throws(AudioIngestError) -> Int {
    if let parent { return try parent.takeNumber() }
    // One after the other: recorders of several wearables share the file.
    return try numbers.withLock { next throws(AudioIngestError) in
      let id = next
      // On disk before the number is used, so that it is never used twice.
      try disk.replace(paths.counter, with: Array(String(id + 1).utf8), by: paths.counter + ".new")
      next += 1
      return id
    }
  }

  /// Ends a segment: its files appear in the folder.
  /// - Returns: `nil` when there was nothing in it.
  /// - Throws: ``AudioIngestError``; what was written is then finished by ``recover(report:)``, when that is possible.
  func finish(_ part: PartFile, _ end: SegmentEnd) throws(AudioIngestError) -> FinishedSegment? {
    var info = part.info
    info.closedBy = end
    do throws(AudioIngestError) {
      try part.flush()
      let finished = try publish(info)
      _ = state.withLock { $0.open.remove(info.name) }
      return finished
    } catch {
      state.withLock { state in
        state.open.remove(info.name)
        state.unfinished[info.name] = info
      }
      throw error
    }
  }

  /// Removes a segment that is not worth keeping.
  func discard(_ part: PartFile) throws(AudioIngestError) {
    _ = state.withLock { $0.open.remove(part.info.name) }
    try removeOpen(part.info.name)
  }

  func removeOpen(_ name: String) throws(AudioIngestError) {
    try disk.remove(paths.part(name))
    try disk.remove(paths.spread(name))
    try disk.remove(paths.log(name))
    try disk.remove(paths.draft(name))
  }

  // MARK: Recovery

  /// Makes segments of what was being written when a recorder ended, or could not be finished for want of space.
  /// - Parameter report: is told of files that could not be read or finished; they stay where they are.
  /// - Returns: the segments that it made.
  public func recover(report: (AudioIngestError) -> Void = { _ in }) throws(AudioIngestError) -> [FinishedSegment] {
    var recovered: [FinishedSegment] = []
    let (open, unfinished) = state.withLock { ($0.open, $0.unfinished) }
    let names = try disk.names(in: paths.open)
    for name in Set(names.compactMap(Self.stem)).sorted() where !open.contains(name) {
      do throws(AudioIngestError) {
        let log = try disk.read(paths.log(name), limit: SegmentLog.limit)
        let (isEmpty, isPublished) = (try partIsEmpty(name), try disk.has(paths.wav(name)))
        if isEmpty || isPublished {
          // Or hardly begun.
          try removeOpen(name)
        } else if let info = unfinished[name] ?? log.flatMap(SegmentLog.read), info.name == name {
          if let segment = try publish(info) { recovered.append(segment) }
        } else {
          throw AudioIngestError(
            .damagedFile, "\(paths.log(name)) does not say what \(name).part is",
            hint: "the samples are in \(paths.part(name)), behind \(WAVHeader.length) bytes")
        }
        _ = state.withLock { $0.unfinished.removeValue(forKey: name) }
      } catch {
        report(error)
      }
    }
    return try recovered + recoverStored(report: report)
  }

  /// Takes what a device has stored for one who fetches it.
  func beginFetching(_ device: String) { _ = state.withLock { $0.fetching.insert(SegmentPaths.word(device)) } }
  func endFetching(_ device: String) { _ = state.withLock { $0.fetching.remove(SegmentPaths.word(device)) } }
  func isFetching(_ device: String) -> Bool { state.withLock { $0.fetching.contains(SegmentPaths.word(device)) } }

  /// Whether there is no sample in it, or no such part.
  private func partIsEmpty(_ name: String) throws(AudioIngestError) -> Bool {
    var status = stat()
    guard stat(paths.part(name), &status) == 0 else {
      if errno == ENOENT { return true }
      throw .disk("looking at \(paths.part(name))")
    }
    return Int(status.st_size) <= WAVHeader.length
  }

  /// The name of a segment, of one of its open files.
  private static func stem(_ name: String) -> String? {
    guard number(of: name) != nil, let dot = name.lastIndex(of: ".") else { return nil }
    return String(name[..<dot])
  }
}
