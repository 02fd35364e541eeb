internal import DurableFiles
import Glibc
internal import Streams

/// A new audio file: samples of any rate go in, and the file appears under its name when it is complete.
final class AudioFile {
  /// What becomes of an existing file of the same name.
  enum Existing {
    /// It is replaced.
    case replaced
    /// It stays, and the new one is discarded.
    case kept
    /// It stays, and the new one is an error.
    case refused
  }

  /// The number of samples so far, without those that a resampler still has.
  private(set) var samples = 0

  /// The files of this process so far: two of its tasks may write a file of one name.
  private static let count = Lock(0)

  private let path: String
  private let temporary: String
  private let disk: Disk
  private let existing: Existing
  private let file: GrowingFile
  private let writer: any AudioFileWriter
  private let sampleRate: Int
  /// The converter of the present stretch of audio of another rate.
  private var resampler: (rate: Int, converter: Resampler)?

  /// Creates a file under a temporary name in the same folder.
  /// - Parameter existing: What becomes of a file of that name at the end.
  /// - Throws: ``AudioIngestError``: `.invalidArgument` if the file exists and is refused, `.noSpace`, `.storage`,
  ///   `.codecFailed`.
  init(
    _ path: String, _ format: AudioFileFormat, sampleRate: Int, existing: Existing, on disk: Disk
  ) throws(AudioIngestError) {
    self.path = path
    self.disk = disk
    self.existing = existing
    self.sampleRate = sampleRate
    let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let number = Self.count.withLock { count in
      count += 1
      return count
    }
    temporary = "\(path[..<slash]).\(path[slash...]).\(getpid())-\(number)"
    if existing == .refused { try Self.refuseExisting(path, disk) }
    file = try storage(GrowingFile(temporary, on: disk))
    do throws(AudioIngestError) {
      writer = try format.writer(for: file, sampleRate: sampleRate)
    } catch {
      // The first error is thrown.
      try? disk.remove(temporary)
      throw error
    }
  }

  static func refuseExisting(_ path: String, _ disk: Disk) throws(AudioIngestError) {
    if try storage(disk.exists(path)) { throw exists(path) }
  }

  private static func exists(_ path: String) -> AudioIngestError {
    AudioIngestError(.invalidArgument, "\(path) exists already", hint: "name another file, or allow to replace it")
  }

  /// Appends samples of a rate.
  func append(_ new: [Int16], rate: Int) throws(AudioIngestError) {
    if let resampler, resampler.rate != rate { try endStretch() }
    guard rate != sampleRate else { return try write(new) }
    if resampler == nil { resampler = (rate, try Resampler(from: rate, to: sampleRate)) }
    var converted: [Int16] = []
    try resampler?.converter.convert(new, into: &converted)
    try write(converted)
  }

  /// Completes the file, and gives it its name, which another task or program may have given to a file meanwhile.
  func finish() throws(AudioIngestError) {
    try endStretch()
    try writer.finish()
    try storage(file.sync())
    if existing == .replaced {
      try storage(disk.rename(temporary, to: path))
    } else if try !storage(disk.renameIfAbsent(temporary, to: path)) {
      guard existing == .kept else { throw Self.exists(path) }
      discard()
    }
    try storage(disk.sync(folder: path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."))
  }

  /// Removes what was written.
  func discard() {
    // It is discarded after a failure, which is what counts, or for a file that is there.
    try? disk.remove(temporary)
  }

  private func endStretch() throws(AudioIngestError) {
    guard let resampler else { return }
    self.resampler = nil
    var converted: [Int16] = []
    try resampler.converter.finish(into: &converted)
    try write(converted)
  }

  private func write(_ new: [Int16]) throws(AudioIngestError) {
    guard !new.isEmpty else { return }
    try writer.append(new)
    samples += new.count
  }
}
