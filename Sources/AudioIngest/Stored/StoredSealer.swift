internal import Timing

/// A maker of segments from the records of a spool, by the same rules as for live audio.
///
/// The segments are made in a scratch folder, some seconds of audio at each step, and appear all at once with
/// ``finish(at:_:_:_:)``. Until then nothing is visible.
struct StoredSealer {
  /// The number of records in a step: some seconds of audio, which take a few milliseconds.
  private static let stride = 32

  private let spool: StoredSpool
  private let scratch: SegmentFolder
  private let rules: SegmentRules
  private let device: AudioDevice
  private let codec: AudioCodec
  /// The segments of the device that were received live, in order.
  private let live: [SegmentInfo]
  private var runs: [StoredTimeline.Run]
  /// The next record, and its run.
  private var next: (run: Int, record: Int)
  private var recorder: StreamRecorder?
  /// The number of samples of the run so far.
  private var samples = 0
  /// The end of the last run so far, in Unix milliseconds.
  private var endMs: Int64?
  /// The number of records without a frame.
  private(set) var emptyRecords = 0

  /// Creates a sealer for the records of a spool.
  /// - Parameters:
  ///   - spool: The spool with the records.
  ///   - rules: The rules for what is kept, and where it is cut.
  ///   - live: The segments of all devices that were received live, whose gaps the new segments may fill.
  ///   - latestMs: The time before which records without a time were captured.
  init(_ spool: StoredSpool, _ rules: SegmentRules, live: [SegmentInfo], latestMs: Int64) throws(AudioIngestError) {
    let label = spool.label
    self.spool = spool
    self.rules = rules
    codec = label.codec
    device = AudioDevice(address: label.device, name: label.name)
    self.live = live.filter { $0.device.address == label.device && $0.backfill == nil }
      .sorted { $0.capture.unixMs < $1.capture.unixMs }
    scratch = try SegmentFolder(scratch: spool.folder.paths.scratch(label.device, label.generation), of: spool.folder)
    var records: [StoredTimeline.Record] = []
    for start in Swift.stride(from: 0, to: spool.count, by: Self.stride) {
      for record in try Self.records(spool, start..<min(start + Self.stride, spool.count)) {
        let samples = record.frames.reduce(0) { $0 + label.codec.samples(in: $1) }
        emptyRecords += record.frames.isEmpty ? 1 : 0
        records.append(.init(stamp: record.stamp, samples: samples))
      }
    }
    runs = StoredTimeline(sampleRate: codec.sampleRate)
      .runs(records, anchors: label.anchors, follows: label.follows, latestMs: latestMs)
    next = (0, 0)
  }

  private static func records(_ spool: StoredSpool, _ range: Range<Int>) throws(AudioIngestError) -> [StoredRecord] {
    let format = spool.label.format
    let bytes = try spool.records(range)
    return range.indices.map { index in
      let start = (index - range.lowerBound) * format.recordLength
      return StoredRecord(bytes[start..<(start + format.recordLength)], format)
    }
  }

  /// Performs the next step.
  /// - Returns: `true` if more steps remain.
  /// - Throws: ``AudioIngestError``; the sealer cannot be used any more then.
  mutating func step() throws(AudioIngestError) -> Bool {
    guard next.run < runs.count else { return false }
    let run = runs[next.run]
    let recorder = try recorderOfRun()
    let end = min(next.record + Self.stride, run.records.upperBound)
    for record in try Self.records(spool, next.record..<end) {
      for frame in record.frames {
        samples += codec.samples(in: frame)
        recorder.receive(Array(frame), at: moment(in: run))
      }
    }
    next.record = end
    if end == run.records.upperBound {
      recorder.end(.storeEnd, at: moment(in: run))
      endMs = moment(in: run).wallMs
      self.recorder = nil
      samples = 0
      next = (next.run + 1, end)
    }
    try complete(recorder.takeEvents(), run.clock)
    return next.run < runs.count
  }

  private mutating func recorderOfRun() throws(AudioIngestError) -> StreamRecorder {
    if let recorder { return recorder }
    let new = try StreamRecorder(device, codec, framing: .bare, into: scratch, rules: rules)
    recorder = new
    return new
  }

  /// Returns the moment at which the last sample so far was captured.
  private func moment(in run: StoredTimeline.Run) -> Moment {
    let instant = Duration.milliseconds(run.startMs) + .samples(samples, at: codec.sampleRate)
    return Moment(instant: instant, wallMs: instant.milliseconds(rounded: .toNearest))
  }

  /// Completes the sidecars of finished segments.
  private func complete(
    _ events: [StreamRecorder.Event], _ clock: SegmentInfo.Backfill.Clock
  ) throws(AudioIngestError) {
    for event in events {
      switch event {
      case .stalled(let error): throw error
      case .finished(let segment):
        var info = segment.info
        info.backfill = .init(clock: clock, fills: SegmentInfo.Backfill.gaps(filledBy: info, in: live))
        let sidecar = SegmentJSON.bytes(info, pretty: true)
        try storage(
          scratch.disk.replace(scratch.paths.sidecar(info.name), with: sidecar, by: scratch.paths.draft(info.name)))
      case .began, .dropped: break
      }
    }
  }

  /// Moves all segments into the folder; the spool then continues at a position.
  /// - Throws: ``AudioIngestError``: before the spool has moved on, nothing has changed; after that, the next recorder
  ///   completes it.
  mutating func finish(
    at position: StoredPosition, _ device: AudioDevice? = nil, _ codec: AudioCodec? = nil,
    _ format: StoredFormat? = nil
  ) throws(AudioIngestError) -> [FinishedSegment] {
    recorder = nil
    try storage(scratch.disk.sync(folder: scratch.path))
    try spool.begin(
      at: position, endMs: endMs, device ?? self.device, codec ?? self.codec, format ?? spool.label.format)
    return try spool.folder.tidyStored(self.device.address)
  }
}
