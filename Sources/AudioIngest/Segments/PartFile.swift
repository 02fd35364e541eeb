/// A segment that is being written: samples go to the disk as they come, and a log says what a sidecar will need.
///
/// What was appended reaches the kernel after 0.2 s of audio, or with ``flush()``, and the disk with the next ``sync()``.
final class PartFile {
  /// What is known of it so far.
  private(set) var info: SegmentInfo
  /// How many samples it has, with those of gaps that were noticed late.
  private(set) var samples = 0
  /// How many of them belong to gaps that were noticed late: they come into the file when it is finished.
  private var late = 0

  /// How many of them will be in the file.
  var written: Int { data.length > WAVHeader.length ? (data.length - WAVHeader.length) / 2 + late : 0 }

  private let data: DiskFile
  private let log: DiskFile
  private var waiting: [Int16] = []
  private let writeSize: Int
  /// Whether the disk lacks some of the one file or the other.
  private var isDirty = (data: false, log: false)

  init(_ info: SegmentInfo, _ paths: SegmentPaths, _ disk: Disk) throws(AudioIngestError) {
    self.info = info
    writeSize = info.sampleRate / 5
    log = try DiskFile(paths.log(info.name), disk)
    data = try DiskFile(paths.part(info.name), disk)
    try log.append(SegmentLog(info: info).line)
    try data.append(WAVHeader(sampleRate: info.sampleRate, dataBytes: 0).bytes)
    try log.sync()
    try data.sync()
    try disk.sync(folder: paths.open)
    waiting.reserveCapacity(writeSize * 2)
  }

  /// Appends samples.
  func append(_ new: UnsafeBufferPointer<Int16>) throws(AudioIngestError) {
    waiting.append(contentsOf: new)
    samples += new.count
    if waiting.count >= writeSize { try flush() }
  }

  /// Notes a gap, before its samples are appended: a crash then leaves no silence that nobody explains.
  func note(_ gap: AudioGap) throws(AudioIngestError) {
    try log.append(SegmentLog(gap: gap).line)
    isDirty.log = true
    info.note(gap)
    guard gap.isLate == true else { return }
    samples += gap.samples
    late += gap.samples
  }

  /// Notes a stretch of speech that has ended.
  func note(_ speech: SegmentInfo.Speech) throws(AudioIngestError) {
    info.speech.append(speech)
    try log.append(SegmentLog(speech: speech).line)
    isDirty.log = true
  }

  /// Hands what waits to the kernel: a process that is killed does not take it along.
  func flush() throws(AudioIngestError) {
    guard !waiting.isEmpty else { return }
    isDirty.data = true
    try data.append(waiting)
    waiting.removeAll(keepingCapacity: true)
  }

  /// Has what the kernel was given on disk: a power cut does not take it along.
  ///
  /// It gives the kernel nothing more, so that with many streams one commit of the file system is good for all of them:
  /// what another stream's sync has committed meanwhile needs no commit of its own.
  func sync() throws(AudioIngestError) {
    if isDirty.log { try log.sync() }
    if isDirty.data { try data.sync() }
    isDirty = (false, false)
  }
}
