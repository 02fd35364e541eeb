internal import Timing

/// The end of a segment before another one: its description, its reason, its number of samples, and the instant of its
/// end on the recorder's clock.
package struct PrecedingSegment {
  let info: SegmentInfo
  let end: SegmentEnd
  let samples: Int
  let instant: Duration
  /// The position behind the segment in its stream; `nil` once another stream has begun.
  var position: Int?

  /// Returns the relation of a segment to this one, and its capture time: never before the end of this one, also when
  /// the wall clock was set back.
  /// - Parameters:
  ///   - start: The instant of the first sample on the recorder's clock.
  ///   - wallMs: The same by the wall clock, in Unix milliseconds.
  ///   - isContinued: A Boolean value that indicates whether no sample lies between the two.
  func relation(
    to start: Duration, wallMs: Int64, isContinued: Bool
  ) -> (previous: SegmentInfo.Previous, capturedAtMs: Int64) {
    let endMs = info.unixMs(of: samples)
    let pauseMs = isContinued ? 0 : max((start - instant).milliseconds(rounded: .toNearest), 0)
    let captured = wallMs >= endMs ? wallMs : endMs + pauseMs
    return (SegmentInfo.Previous(id: info.id, closedBy: end, pause: Double(pauseMs) / 1000), captured)
  }
}

/// A writer that puts the blocks of one stream into segments, as its cutter decides, and survives a full disk.
final class SegmentKeeper {
  /// A block of 20 ms, or the rest of a stream.
  struct Block {
    let samples: ArraySlice<Int16>
    /// The sum of their squares.
    let energy: Int
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
  /// The instant at which the first sample of the open segment was captured.
  private var partInstant = Duration.zero
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
    let action = cutter.handle(
      .init(samples: count, energy: block.energy, isSpeech: block.isSpeech), held: min(held.count, heldLimit))
    if action == .hold || action == .open && !open(before: block, moment) { return hold(block) }
    append(block.samples, block.isSpeech, moment)
    gaps.removeAll { $0.gap.end <= block.start + count }
    switch action {
    case .close(let end, let keep): close(end, keep: keep, moment)
    case .split(let cut): split(at: cut, block, moment)
    case .hold, .open, .append: break
    }
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
      guard place >= partStart, cutter.grow(by: samples, at: place - partStart) else { return false }
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
    previous?.position = nil
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
    do throws(AudioIngestError) {
      if retryAt != nil { events += try folder.recover().map { .finished($0) } }
      var place = place(of: start, position: block.start - held.count, moment)
      if previous == nil, let end = try folder.lastEndMs(of: device) {
        // An earlier recorder's clock may have been ahead of this one's.
        place.capturedAtMs = max(place.capturedAtMs, end)
      }
      let new = try folder.begin(device, codec, capturedAtMs: place.capturedAtMs, previous: place.previous)
      part = new
      partStart = block.start - held.count
      partInstant = start
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

  /// Returns the relation of a segment that starts now to the one before, and its capture time.
  private func place(
    of start: Duration, position: Int, _ moment: Moment
  ) -> (previous: SegmentInfo.Previous?, capturedAtMs: Int64) {
    let wallMs = moment.wallMs - (moment.instant - start).milliseconds(rounded: .toNearest)
    guard let previous else { return (nil, wallMs) }
    return previous.relation(to: start, wallMs: wallMs, isContinued: previous.position == position)
  }

  /// Ends the open segment at a position before its end, and opens the next one with the samples behind it.
  ///
  /// These are on disk there before they leave the segment that they were heard in: at every moment each sample is in
  /// one of the two, and after a crash in exactly one.
  private func split(at cut: Int, _ block: Block, _ moment: Moment) {
    guard let old = part else { return }
    let count = old.samples - cut
    let start = block.captured + .samples(block.samples.count - count, at: codec.sampleRate)
    let before = PrecedingSegment(
      info: old.info, end: .maximum, samples: cut, instant: partInstant + .samples(cut, at: codec.sampleRate),
      position: partStart + cut)
    let wallMs = moment.wallMs - (moment.instant - start).milliseconds(rounded: .toNearest)
    let place = before.relation(to: start, wallMs: wallMs, isContinued: true)
    do throws(AudioIngestError) {
      let new = try folder.begin(
        device, codec, capturedAtMs: place.capturedAtMs, previous: place.previous,
        carry: SegmentCarry(name: old.info.name, position: cut, samples: count))
      do throws(AudioIngestError) {
        try carry(old, from: cut, to: new)
      } catch {
        // The first error is reported; files that stay are removed by the next recovery.
        try? folder.discard(new)
        throw error
      }
      part = new
      previous = before
    } catch {
      stall(error, moment)
      return close(.maximum, keep: true, moment)
    }
    let failure = finish(old, at: cut)
    partStart += cut
    partInstant = start
    if let part { events.append(.began(part.info)) }
    guard let failure else { return }
    stall(failure, moment)
    // Nothing is attempted for a while, and so the next one ends here.
    close(failure.code == .noSpace ? .noSpace : .diskFailed, keep: true, moment)
  }

  /// Copies the samples of a segment from a position on, with what is known about them, to the disk of another one.
  private func carry(_ old: PartFile, from cut: Int, to new: PartFile) throws(AudioIngestError) {
    for gap in old.info.gaps {
      if let gap = gap.clipped(to: cut..<Int.max) { try new.add(gap) }
    }
    for speech in old.info.speech {
      if let speech = speech.clipped(to: cut..<Int.max) { try new.add(speech) }
    }
    let samples = try old.samples(from: cut)
    try samples.withUnsafeBufferPointer { samples throws(AudioIngestError) in try new.append(samples) }
    try new.flush()
    if folder.parent == nil { try new.sync() }
  }

  /// Finishes a segment whose last samples are in the next one.
  /// - Returns: The error if that failed; the next recovery finishes it then.
  private func finish(_ old: PartFile, at cut: Int) -> AudioIngestError? {
    var failure: AudioIngestError?
    if let start = speechStart {
      do throws(AudioIngestError) {
        // Its first part is the old segment's, if it began there.
        if start < cut { try old.add(SegmentInfo.Speech(start: start, samples: cut - start)) }
      } catch {
        failure = error
      }
      speechStart = max(start - cut, 0)
    }
    old.end(at: cut)
    do throws(AudioIngestError) {
      if let finished = try folder.finish(old, .maximum) { events.append(.finished(finished)) }
    } catch {
      failure = failure ?? error
    }
    return failure
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
      defer { if part.written > 0 { previous = preceding(part, end) } }
      if let finished = try folder.finish(part, end) { events.append(.finished(finished)) }
    } catch {
      stall(error, moment)
    }
  }

  private func preceding(_ part: PartFile, _ end: SegmentEnd) -> PrecedingSegment {
    let samples = part.written
    return PrecedingSegment(
      info: part.info, end: end, samples: samples, instant: partInstant + .samples(samples, at: codec.sampleRate),
      position: partStart + samples)
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
