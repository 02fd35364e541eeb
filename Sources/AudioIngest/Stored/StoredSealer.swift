/// Makes segments of the records of a spool, by the same rules as of live audio: decoded, cut, judged, with sidecars.
///
/// They are made out of sight, a few seconds of sound at a step, and appear all at once with ``finish(at:)``. Until then
/// nothing has happened.
struct StoredSealer {
  /// Records of a step: some seconds of sound, which take a few milliseconds.
  private static let stride = 32

  private let spool: StoredSpool
  private let scratch: SegmentFolder
  private let rules: SegmentRules
  private let device: AudioDevice
  private let codec: AudioCodec
  /// What was heard live of the device, in order.
  private let heard: [SegmentInfo]
  private var runs: [StoredTimeline.Run]
  /// The next record, and the run it is in.
  private var next: (run: Int, record: Int)
  private var recorder: StreamRecorder?
  /// The samples of the run so far.
  private var samples = 0
  /// When the last of the runs so far was over.
  private var endMs: Int64?
  /// How many records had no frame in them.
  private(set) var emptyRecords = 0

  /// - Parameters:
  ///   - rules: what is kept, and where it is cut.
  ///   - heard: the segments that were heard live, of all devices; to these what is made is related.
  ///   - latestMs: what has no time of its own was captured before this.
  init(_ spool: StoredSpool, _ rules: SegmentRules, heard: [SegmentInfo], latestMs: Int64) throws(AudioIngestError) {
    let label = spool.label
    (self.spool, self.rules, codec) = (spool, rules, label.codec)
    device = AudioDevice(address: label.device, name: label.name)
    self.heard = heard.filter { $0.device == label.device && $0.backfill == nil }
      .sorted { $0.capturedAtMs < $1.capturedAtMs }
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
    let (format, bytes) = (spool.label.format, try spool.records(range))
    return range.indices.map { index in
      let start = (index - range.lowerBound) * format.recordLength
      return StoredRecord(bytes[start..<(start + format.recordLength)], format)
    }
  }

  /// Makes some more of them.
  /// - Returns: whether there is more to do.
  /// - Throws: ``AudioIngestError``; then begin anew.
  mutating func step() throws(AudioIngestError) -> Bool {
    guard next.run < runs.count else { return false }
    let run = runs[next.run]
    let recorder = try recorderOfRun()
    let end = min(next.record + Self.stride, run.records.upperBound)
    for record in try Self.records(spool, next.record..<end) {
      for frame in record.frames {
        samples += codec.samples(in: frame)
        recorder.take(Array(frame), at: moment(in: run))
      }
    }
    next.record = end
    if end == run.records.upperBound {
      recorder.end(.storeEnd, at: moment(in: run))
      endMs = moment(in: run).wallMs
      (self.recorder, samples) = (nil, 0)
      next = (next.run + 1, end)
    }
    try note(recorder.takeEvents(), run.clock)
    return next.run < runs.count
  }

  private mutating func recorderOfRun() throws(AudioIngestError) -> StreamRecorder {
    if let recorder { return recorder }
    let new = try StreamRecorder(device, codec, framing: .bare, into: scratch, rules: rules)
    recorder = new
    return new
  }

  /// When the last sample so far was captured.
  private func moment(in run: StoredTimeline.Run) -> Moment {
    let instant = Duration.milliseconds(run.startMs) + .samples(samples, at: codec.sampleRate)
    return Moment(instant: instant, wallMs: instant.wholeMilliseconds)
  }

  /// Completes the sidecars of what is finished.
  private func note(_ events: [StreamRecorder.Event], _ clock: SegmentInfo.Backfill.Clock) throws(AudioIngestError) {
    for event in events {
      switch event {
      case .stalled(let error): throw error
      case .finished(let segment):
        var info = segment.info
        info.backfill = .init(clock: clock, fills: SegmentInfo.Backfill.gaps(filledBy: info, in: heard))
        try scratch.disk.replace(
          scratch.paths.sidecar(info.name), with: SegmentJSON.bytes(info, pretty: true),
          by: scratch.paths.draft(info.name))
      case .began, .dropped: break
      }
    }
  }

  /// Lets all of them appear in the folder; the spool then goes on behind them, or somewhere else.
  /// - Throws: ``AudioIngestError``: before the spool has moved on, nothing has happened; behind that, the next recorder
  ///   finishes it.
  mutating func finish(
    at position: StoredPosition, _ device: AudioDevice? = nil, _ codec: AudioCodec? = nil,
    _ format: StoredFormat? = nil
  ) throws(AudioIngestError) -> [FinishedSegment] {
    recorder = nil
    try scratch.disk.sync(folder: scratch.path)
    try spool.begin(
      at: position, endMs: endMs, device ?? self.device, codec ?? self.codec, format ?? spool.label.format)
    return try spool.folder.tidyStored(self.device.address)
  }
}

extension SegmentInfo.Backfill {
  /// So much of a pause must lie in a stretch, unless one of them is shorter; a device's clock shows whole seconds.
  private static let leastMs: Int64 = 500

  /// Which gaps and pauses a segment has to do with.
  /// - Parameter heard: segments of the same device that were heard live, in order.
  static func gaps(filledBy info: SegmentInfo, in heard: [SegmentInfo]) -> [Gap] {
    let range = info.capturedAtMs..<info.endMs
    func touches(_ start: Int64, _ end: Int64) -> Bool {
      let shared = min(end, range.upperBound) - max(start, range.lowerBound)
      return shared > 0 && shared >= min(leastMs, (end - start) / 2, Int64(range.count) / 2)
    }
    var gaps: [Gap] = []
    for (index, segment) in heard.enumerated() {
      if index > 0, case let end = heard[index - 1].endMs, touches(end, segment.capturedAtMs) {
        gaps.append(Gap(segment: segment.id, start: nil, duration: Double(segment.capturedAtMs - end) / 1000))
      }
      for gap in segment.gaps {
        let start = segment.capturedAtMs + Int64(gap.start) * 1000 / Int64(segment.sampleRate)
        let length = Int64(gap.samples) * 1000 / Int64(segment.sampleRate)
        // What is made up for a moment is no gap that anybody stores.
        guard length >= leastMs, touches(start, start + length) else { continue }
        gaps.append(Gap(segment: segment.id, start: gap.start, duration: Double(length) / 1000))
      }
    }
    return gaps
  }
}

extension SegmentInfo {
  /// When its last sample was over, in Unix milliseconds.
  var endMs: Int64 { capturedAtMs + Int64(samples) * 1000 / Int64(max(sampleRate, 1)) }
}
