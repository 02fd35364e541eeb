package import DurableFiles
import Glibc
package import Streams

/// A folder of recordings, locked by one program at a time, into which several streams may be recorded.
///
/// A file whose name ends in `.wav` is complete and has a sidecar at every moment: also after `kill -9`, after a power cut
/// and on a full disk. A segment that was being written when a program ended becomes a finished one with
/// ``recover(report:)``, and lacks at most its last second.
///
/// ```swift
/// let folder = try SegmentFolder(path: "recordings", limits: .init(quota: 1 << 30))
/// for segment in try folder.recover(report: { print($0) }) { print("recovered", segment.path) }
/// ```
public final class SegmentFolder: Sendable {
  /// The limits of the space that recordings may use.
  public struct Limits: Sendable, Hashable {
    /// The largest total size of all files in the folder, in bytes; 8 GiB by default, about three days of audio.
    ///
    /// Above it delivered segments are removed, the oldest first. Segments that were not delivered stay, and recording
    /// stops.
    public var quota: Int
    /// The number of bytes that always stay free on the disk, for other programs; 64 MiB by default.
    public var reserve: Int

    /// Creates limits, by default a quota of 8 GiB and a reserve of 64 MiB.
    public init(quota: Int = 8 << 30, reserve: Int = 64 << 20) {
      self.quota = quota
      self.reserve = reserve
    }
  }

  /// A segment that could not be finished: its description, and the position from which on its samples are in another.
  struct Unfinished {
    var info: SegmentInfo
    var end: Int?
  }

  struct State {
    /// The names of the segments that are being written.
    var open: Set<String> = []
    /// The segments that were written and could not be finished, for example on a full disk.
    var unfinished: [String: Unfinished] = [:]
    /// The devices whose stored audio is being fetched.
    var fetching: Set<String> = []
    /// A Boolean value that indicates whether files were removed that a program was writing when it ended.
    var isTidy = false
  }

  /// The path of the folder, without a slash at its end.
  public let path: String
  /// The limits of the space that the folder may use.
  public let limits: Limits
  package let paths: SegmentPaths
  package let disk: Disk
  /// The folder whose recorder makes segments in this scratch folder; `nil` for a folder of its own.
  let parent: SegmentFolder?
  let state = Lock(State())
  private let lock: FileLock
  /// The number of the next segment; locked while one is taken.
  private let numbers = Lock(1)
  /// A lock for changes of the file of devices.
  package let devices = Lock(())

  /// Locks a folder for this program, and creates it, for its user only (mode 0700), if it does not exist.
  /// - Parameters:
  ///   - path: The path of the folder.
  ///   - limits: The limits of the space that recordings may use.
  /// - Throws: ``AudioIngestError``: `.busy` if another recorder has locked it, `.storage`, `.noSpace`.
  public convenience init(path: String, limits: Limits = Limits()) throws(AudioIngestError) {
    try self.init(path: path, limits: limits, disk: Disk())
  }

  /// Creates a scratch folder within another one, whose segments appear there all at once, with ``adopt(_:)``.
  ///
  /// The segments share the numbers and limits of the other folder. What a crash leaves of a scratch folder is removed
  /// and made again.
  convenience init(scratch path: String, of parent: SegmentFolder) throws(AudioIngestError) {
    try storage(parent.disk.remove(tree: path))
    try self.init(path: path, limits: parent.limits, disk: parent.disk, parent: parent)
  }

  package init(
    path: String, limits: Limits, disk: Disk, parent: SegmentFolder? = nil
  ) throws(AudioIngestError) {
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    self.path = path
    self.limits = limits
    self.disk = disk
    self.parent = parent
    paths = SegmentPaths(root: path)
    try storage(disk.createFolder(paths.open))
    guard let lock = try storage(FileLock(path: paths.lock)) else {
      throw AudioIngestError(
        .busy, "another recorder has locked the folder \(path)", hint: "stop it, or choose another folder")
    }
    self.lock = lock
    let next = try nextNumber()
    numbers.withLock { $0 = next }
  }

  /// Returns the first number that no segment has had.
  private func nextNumber() throws(AudioIngestError) -> Int {
    let stored = try disk.contents(of: paths.counter, limit: 64)
    let kept = stored.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 1
    let names = try storage(disk.names(in: path)) + storage(disk.names(in: paths.open))
    return max(SegmentInfo.numbers ~= kept ? kept : 1, (names.compactMap(SegmentFolder.number).max() ?? 0) + 1)
  }

  /// Returns the number in the name of a file.
  static func number(of name: String) -> Int? {
    // 20261122T004512.345Z-000042.wav
    guard let dash = name.lastIndex(of: "-") else { return nil }
    let digits = name[dash...].dropFirst().prefix { $0 != "." }
    guard digits.utf8.count >= 6, digits.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return Int(digits).flatMap { SegmentInfo.numbers ~= $0 ? $0 : nil }
  }

  /// Returns the end of the last finished segment that was received live from a device, in Unix milliseconds; `nil` if
  /// there is none, and in a scratch folder, whose segments have the times of the device.
  func lastEndMs(of device: AudioDevice) throws(AudioIngestError) -> Int64? {
    guard parent == nil else { return nil }
    // Names sort by time, and so the first one is that of the last segment.
    for file in try storage(disk.names(in: path)).reversed() where file.hasSuffix(".wav") {
      // The catalog names a sidecar that is damaged or cannot be read; it stops no recorder.
      let bytes = try? disk.contents(of: paths.sidecar(String(file.dropLast(4))), limit: SegmentJSON.limit)
      guard let info = bytes.flatMap(SegmentJSON.info), info.backfill == nil else { continue }
      if info.device.address == device.address { return info.endMs }
    }
    return nil
  }

  // MARK: Writing

  /// Opens a segment.
  /// - Parameter carry: The samples that it will take over from the segment before.
  /// - Throws: ``AudioIngestError``: `.noSpace` if the disk or the quota is full, `.storage`.
  func begin(
    _ device: AudioDevice, _ codec: AudioCodec, capturedAtMs: Int64, previous: SegmentInfo.Previous?,
    carry: SegmentCarry? = nil
  ) throws(AudioIngestError) -> PartFile {
    try makeRoom()
    let info = SegmentInfo(
      id: try takeNumber(), capturedAtMs: capturedAtMs, device: device, codec: codec, previous: previous)
    _ = state.withLock { $0.open.insert(info.name) }
    do throws(AudioIngestError) {
      return try PartFile(info, paths, disk, carry: carry)
    } catch {
      _ = state.withLock { $0.open.remove(info.name) }
      // The first error is thrown; files that stay are removed by the next recovery.
      try? removeOpen(info.name)
      throw error
    }
  }

  /// Opens a file for notifications that cannot be decoded; it is visible from its first line on.
  /// - Throws: ``AudioIngestError``: `.noSpace` if the disk or the quota is full, `.storage`.
  package func beginRaw(capturedAtMs: Int64) throws(AudioIngestError) -> RawFile {
    try makeRoom()
    let name = SegmentInfo.name(try takeNumber(), capturedAtMs)
    return try RawFile(paths.raw(name), disk)
  }

  private func takeNumber() throws(AudioIngestError) -> Int {
    if let parent { return try parent.takeNumber() }
    // One at a time: the recorders of several wearables share the file.
    return try numbers.withLock { next throws(AudioIngestError) in
      let id = next
      // On disk before the number is used, so that it is never used twice.
      try storage(disk.replace(paths.counter, with: Array(String(id + 1).utf8), by: paths.counter + ".new"))
      next += 1
      return id
    }
  }

  /// Finishes a segment: its files appear in the folder.
  /// - Returns: `nil` if the segment has no samples.
  /// - Throws: ``AudioIngestError``; ``recover(report:)`` then finishes what was written, when that is possible.
  func finish(_ part: PartFile, _ end: SegmentEnd) throws(AudioIngestError) -> FinishedSegment? {
    var info = part.info
    info.closedBy = end
    do throws(AudioIngestError) {
      try part.flush()
      let finished = try publish(info, end: part.end)
      _ = state.withLock { $0.open.remove(info.name) }
      return finished
    } catch {
      state.withLock { state in
        state.open.remove(info.name)
        state.unfinished[info.name] = Unfinished(info: info, end: part.end)
      }
      throw error
    }
  }

  /// Removes a segment that has too little speech, or whose samples are all in another one.
  func discard(_ part: PartFile) throws(AudioIngestError) {
    _ = state.withLock { $0.open.remove(part.info.name) }
    try removeOpen(part.info.name)
  }

  func removeOpen(_ name: String) throws(AudioIngestError) {
    try storage(disk.remove(paths.part(name)))
    try storage(disk.remove(paths.spread(name)))
    try storage(disk.remove(paths.log(name)))
    try storage(disk.remove(paths.draft(name)))
  }
}
