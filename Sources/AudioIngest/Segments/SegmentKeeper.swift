internal import Timing

/// The end of a segment before another one: its description, its reason, and its number of samples.
package struct PrecedingSegment {
  let info: SegmentInfo
  let end: SegmentEnd
  let samples: Int
}

/// A writer that puts the blocks of one stream into segments, as its cutter decides, and survives a full disk.
final class SegmentKeeper {
  /// A block of 20 ms, or the rest of a stream.
  struct Block {
    let samples: ArraySlice<Int16>
    /// The position of the first sample in the stream.
    let start: Int
    let isSpeech: Bool
    /// The instant at which the first sample was captured.
    let captured: Duration
  }

  /// The interval between two syncs: with the 0.2 s until samples are written, at most one second is lost.
  static let syncInterval = Duration.milliseconds(800)
  /// The time between a failure and the next attempt.
  static let retryInterval = Duration.seconds(1)

  var openSamples: Int? { part?.samples }
  /// The description so far of the open segment.
  var openSegment: SegmentInfo? {
    part.map {
      var info = $0.info
      info.samples = $0.samples
      return info
    }
  }

  private let device: AudioDevice
  private let codec: AudioCodec
  private let folder: SegmentFolder
  private var cutter: SegmentCutter
  private var part: PartFile?
  /// The position of the first sample of the open segment.
  private var partStart = 0
  /// The last segment: the next one names the pause between the two.
  var previous: PrecedingSegment?

  /// The last samples while no segment is open.
  private var held: [Int16] = []
  private let heldLimit: Int
  /// The gaps within the held samples or behind them, and whether the open segment has recorded them.
  private var gaps: [(gap: AudioGap, isRecorded: Bool)] = []
  /// The start of the current speech, from the start of the open segment.
  private var speechStart: Int?

  private var lastSync = Duration.zero
  /// The instant before which nothing is attempted, after a failure.
  private var retryAt: Duration?
  private var events: [StreamRecorder.Event] = []

  init(_ device: AudioDevice, _ codec: AudioCodec, _ folder: SegmentFolder, _ rules: SegmentRules) {
    self.device = device
    self.codec = codec
    self.folder = folder
    cutter = SegmentCutter(rules, sampleRate: codec.sampleRate)
    heldLimit = rules.preRoll.samples(at: codec.sampleRate)
  }

  func takeEvents() -> [StreamRecorder.Event] {
    defer { events.removeAll() }
    return events
  }

  /// Adds a gap of the stream, before its samples are kept.
  func add(_ gap: AudioGap) { gaps.append((gap, false)) }

  /// Writes or holds the next block.
  func keep(_ block: Block, _ moment: Moment) {
    if let retryAt, moment.instant < retryAt { return hold(block) }
    let count = block.samples.count
    let action = cutter.handle(count, isSpeech: block.isSpeech, held: min(held.count, heldLimit))
    if action == .hold || action == .open && !open(before: block, moment) { return hold(block) }
    append(block.samples, block.isSpeech, moment)
    gaps.removeAll { $0.gap.end <= block.start + count }
    if case .close(let end, let keep) = action { close(end, keep: keep, moment) }
  }

  /// Inserts a gap before samples that have been kept.
  /// - Parameters:
  ///   - samples: The number of samples to insert.
  ///   - place: The position to insert them at, at most `end`.
  ///   - end: The position behind the last kept sample.
  ///   - moment: The present moment.
  /// - Returns: `false` if that is impossible: the segment there has ended, or would become too long.
  func insert(_ samples: Int, at place: Int, before end: Int, _ moment: Moment) -> Bool {
    var gap = AudioGap(start: place, samples: samples, reason: .unsent)
    if part != nil {
      guard place >= partStart, cutter.grow(by: samples) else { return false }
      moveGaps(behind: place, by: samples)
      gap.start -= partStart
      gap.isLate = true
      if let start = speechStart, start >= gap.start { speechStart = start + samples }
      attempt(moment) { part throws(AudioIngestError) in try part.add(gap) }
    } else {
      let start = end - held.count
      guard place >= start else { return false }
      moveGaps(behind: place, by: samples)
      held.insert(contentsOf: repeatElement(0, count: samples), at: place - start)
      gaps.insert((gap, false), at: gaps.firstIndex { $0.gap.start > place } ?? gaps.endIndex)
    }
    return true
  }

  private func moveGaps(behind place: Int, by samples: Int) {
    for index in gaps.indices where gaps[index].gap.start >= place { gaps[index].gap.start += samples }
  }

  /// Ends the stream: the next block starts at position 0 again.
  func end(_ reason: SegmentEnd, _ moment: Moment) {
    close(reason, keep: true, moment)
    held.removeAll(keepingCapacity: true)
    gaps.removeAll(keepingCapacity: true)
  }

  /// Passes the waiting samples to the kernel.
  func flush(_ moment: Moment) {
    attempt(moment) { part throws(AudioIngestError) in try part.flush() }
  }

  /// Syncs the written samples to the disk, if that is due.
  func syncIfDue(_ moment: Moment) {
    // The segments of a scratch folder become durable together.
    guard folder.parent == nil, moment.instant - lastSync >= Self.syncInterval else { return }
    lastSync = moment.instant
    attempt(moment) { part throws(AudioIngestError) in
      try part.sync()
      if try !folder.hasReserve() { try folder.makeRoom() }
    }
  }

  private func hold(_ block: Block) {
    held += block.samples
    // Not with every block, which would move all samples each time.
    if held.count > heldLimit * 2 { held.removeFirst(held.count - heldLimit) }
    gaps.removeAll { $0.gap.end <= block.start + block.samples.count - held.count }
  }

  /// Opens a segment with the held samples.
  /// - Returns: `true` if a segment is open now.
  private func open(before block: Block, _ moment: Moment) -> Bool {
    if held.count > heldLimit { held.removeFirst(held.count - heldLimit) }
    let start = block.captured - .samples(held.count, at: codec.sampleRate)
    let capturedMs = moment.wallMs - (moment.instant - start).milliseconds(rounded: .toNearest)
    do throws(AudioIngestError) {
      if retryAt != nil { events += try folder.recover().map { .finished($0) } }
      let new = try folder.begin(device, codec, capturedAtMs: capturedMs, previous: pause(before: capturedMs))
      part = new
      partStart = block.start - held.count
      retryAt = nil
      speechStart = nil
      events.append(.began(new.info))
    } catch {
      stall(error, moment)
      return false
    }
    for index in gaps.indices { gaps[index].isRecorded = false }
    append(held[...], false, moment)
    held.removeAll(keepingCapacity: true)
    return part != nil
  }

  private func pause(before capturedMs: Int64) -> SegmentInfo.Previous? {
    previous.map {
      let endMs = $0.info.capture.unixMs + Int64($0.samples) * 1000 / Int64($0.info.sampleRate)
      return SegmentInfo.Previous(id: $0.info.id, closedBy: $0.end, pause: Double(max(capturedMs - endMs, 0)) / 1000)
    }
  }

  private func append(_ samples: ArraySlice<Int16>, _ isSpeech: Bool, _ moment: Moment) {
    attempt(moment) { part throws(AudioIngestError) in
      for index in gaps.indices where !gaps[index].isRecorded {
        if let gap = gaps[index].gap.clipped(to: partStart..<Int.max) { try part.add(gap) }
        gaps[index].isRecorded = true
      }
      if isSpeech { speechStart = speechStart ?? part.samples } else { try endSpeech(in: part) }
      try samples.withUnsafeBufferPointer { samples throws(AudioIngestError) in try part.append(samples) }
    }
  }

  private func endSpeech(in part: PartFile) throws(AudioIngestError) {
    guard let start = speechStart else { return }
    speechStart = nil
    try part.add(.init(start: start, samples: part.samples - start))
  }

  private func close(_ end: SegmentEnd, keep: Bool, _ moment: Moment) {
    cutter.end()
    guard let part else { return }
    self.part = nil
    do throws(AudioIngestError) {
      guard keep else {
        try folder.discard(part)
        events.append(.dropped(part.samples))
        return
      }
      try endSpeech(in: part)
    } catch {
      stall(error, moment)
    }
    do throws(AudioIngestError) {
      defer { if part.written > 0 { previous = PrecedingSegment(info: part.info, end: end, samples: part.written) } }
      if let finished = try folder.finish(part, end) { events.append(.finished(finished)) }
    } catch {
      stall(error, moment)
    }
  }

  /// Performs an operation on the open segment; if it fails, the segment ends where it is.
  private func attempt(_ moment: Moment, _ body: (PartFile) throws(AudioIngestError) -> Void) {
    guard let part else { return }
    do throws(AudioIngestError) {
      try body(part)
    } catch {
      stall(error, moment)
      close(error.code == .noSpace ? .noSpace : .diskFailed, keep: true, moment)
    }
  }

  private func stall(_ error: AudioIngestError, _ moment: Moment) {
    cutter.end()
    if retryAt == nil { events.append(.stalled(error)) }
    retryAt = moment.instant + Self.retryInterval
  }
}
