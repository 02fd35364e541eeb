internal import DurableFiles

/// A segment that is being written: its samples, and a log with the contents of the later sidecar.
///
/// Appended samples reach the kernel after 0.2 s of audio, or with ``flush()``, and the disk with the next ``sync()``.
final class PartFile {
  /// The description of the segment so far.
  private(set) var info: SegmentInfo
  /// The number of samples, those of gaps found late included.
  private(set) var samples = 0
  /// The number of samples in gaps found late: they enter the file when it is finished.
  private var late = 0

  /// The position from which on the samples belong to the next segment; `nil` if all of them belong to this one.
  private(set) var end: Int?

  /// The number of samples that the finished file will have.
  var written: Int { end ?? (data.length > WAVHeader.length ? (data.length - WAVHeader.length) / 2 + late : 0) }

  private let data: GrowingFile
  private let log: GrowingFile
  private var waiting: [Int16] = []
  private let writeSize: Int
  private var isDataDirty = false
  private var isLogDirty = false

  init(
    _ info: SegmentInfo, _ paths: SegmentPaths, _ disk: Disk, carry: SegmentCarry? = nil
  ) throws(AudioIngestError) {
    self.info = info
    writeSize = info.sampleRate / 5
    log = try storage(GrowingFile(paths.log(info.name), on: disk))
    data = try storage(GrowingFile(paths.part(info.name), on: disk))
    try storage(log.append(SegmentLog(info: info, carry: carry).line))
    try storage(data.append(WAVHeader(sampleRate: info.sampleRate, dataBytes: 0).bytes))
    try storage(log.sync())
    try storage(data.sync())
    try storage(disk.sync(folder: paths.open))
    waiting.reserveCapacity(writeSize * 2)
  }

  /// Appends samples.
  func append(_ new: UnsafeBufferPointer<Int16>) throws(AudioIngestError) {
    waiting.append(contentsOf: new)
    samples += new.count
    if waiting.count >= writeSize { try flush() }
  }

  /// Records a gap, before its samples are appended: after a crash no silence is left unexplained.
  func add(_ gap: AudioGap) throws(AudioIngestError) {
    try storage(log.append(SegmentLog(gap: gap).line))
    isLogDirty = true
    info.add(gap)
    guard gap.isLate == true else { return }
    samples += gap.samples
    late += gap.samples
  }

  /// Records a range of speech that has ended.
  func add(_ speech: SegmentInfo.Speech) throws(AudioIngestError) {
    info.speech.append(speech)
    try storage(log.append(SegmentLog(speech: speech).line))
    isLogDirty = true
  }

  /// Passes the waiting samples to the kernel: they survive `kill -9`.
  func flush() throws(AudioIngestError) {
    guard !waiting.isEmpty else { return }
    isDataDirty = true
    try storage(data.append(waiting))
    waiting.removeAll(keepingCapacity: true)
  }

  /// Returns the samples from a position on, with the silence of gaps found late.
  func samples(from position: Int) throws(AudioIngestError) -> [Int16] {
    try flush()
    let offset = WAVHeader.length + (position - late(before: position)) * 2
    let bytes = try data.bytes(at: offset, data.length - offset)
    var samples = bytes.withUnsafeBytes { bytes in
      (0..<(bytes.count / 2)).map { bytes.loadUnaligned(fromByteOffset: $0 * 2, as: Int16.self) }
    }
    for gap in info.gaps where gap.isLate == true && gap.start >= position {
      samples.insert(contentsOf: repeatElement(0, count: gap.samples), at: gap.start - position)
    }
    return samples
  }

  private func late(before position: Int) -> Int {
    info.gaps.reduce(0) { $0 + ($1.isLate == true && $1.start < position ? $1.samples : 0) }
  }

  /// Ends the segment at a position: the samples behind it are in another segment, on disk.
  func end(at position: Int) {
    info.end(at: position)
    end = position
  }

  /// Syncs what the kernel has to the disk: it survives a power cut.
  ///
  /// Waiting samples are not passed to the kernel, so that with many streams one commit of the file system serves all of
  /// them: data that another stream's sync has committed needs no commit of its own.
  func sync() throws(AudioIngestError) {
    if isLogDirty { try storage(log.sync()) }
    if isDataDirty { try storage(data.sync()) }
    isLogDirty = false
    isDataDirty = false
  }
}
