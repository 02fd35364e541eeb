/// A segment before another one: how it ended, and with how many samples.
struct PrecedingSegment {
  let info: SegmentInfo
  let end: SegmentEnd
  let samples: Int
}

/// Writes the blocks of one stream into segments, where its cutter says, and gets over a disk that is full.
final class SegmentKeeper {
  /// How often what was written goes to the disk: with the 0.2 s until it is written, that makes a second.
  static let syncInterval = Duration.milliseconds(800)
  /// How soon after a failure it is tried again.
  static let retryInterval = Duration.seconds(1)

  /// How many samples of the stream were taken.
  private(set) var position = 0
  var openSamples: Int? { part?.samples }
  /// What is known so far of the open segment.
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
  /// What was recorded last: the next segment says how long the pause was behind it.
  var previous: PrecedingSegment?

  /// What was heard last while no segment is open.
  private var held: [Int16] = []
  private let heldLimit: Int
  /// The gaps that lie in what is held or still to come, and whether the open segment has them.
  private var gaps: [(gap: AudioGap, isNoted: Bool)] = []
  /// Where the speech began that goes on now, from the beginning of the open segment.
  private var speechStart: Int?

  private var lastSync = Duration.zero
  /// Until when nothing is tried, because it failed.
  private var retryAt: Duration?
  private var happened: [StreamRecorder.Event] = []

  init(_ device: AudioDevice, _ codec: AudioCodec, _ folder: SegmentFolder, _ rules: SegmentRules) {
    (self.device, self.codec, self.folder) = (device, codec, folder)
    cutter = SegmentCutter(rules, sampleRate: codec.sampleRate)
    heldLimit = rules.preRoll.samples(at: codec.sampleRate)
  }

  func takeEvents() -> [StreamRecorder.Event] {
    defer { happened.removeAll() }
    return happened
  }

  /// Notes a gap of the stream, before its samples are taken.
  func note(_ gap: AudioGap) { gaps.append((gap, false)) }

  /// Takes the next block.
  /// - Parameter captured: when its first sample was heard, on the clock of the moment.
  func take(_ samples: ArraySlice<Int16>, isSpeech: Bool, _ moment: Moment, captured: Duration) {
    if let retryAt, moment.instant < retryAt { return hold(samples) }
    let decision = cutter.take(samples.count, isSpeech: isSpeech, held: min(held.count, heldLimit))
    if decision == .hold || decision == .open && !open(moment, captured) { return hold(samples) }
    append(samples, isSpeech, moment)
    position += samples.count
    gaps.removeAll { $0.gap.end <= position }
    if case .close(let end, let keep) = decision { close(end, keep: keep, moment) }
  }

  /// Puts a gap before samples that were taken already.
  /// - Parameter place: its position in the stream.
  /// - Returns: `false` when that cannot be: the segment there has ended, or would become too long.
  func insert(_ samples: Int, at place: Int, _ moment: Moment) -> Bool {
    let place = min(place, position)
    var gap = AudioGap(start: place, samples: samples, reason: .unsent)
    if part != nil {
      guard place >= partStart, cutter.grow(by: samples) else { return false }
      moveGaps(behind: place, by: samples)
      gap.start -= partStart
      gap.isLate = true
      if let start = speechStart, start >= gap.start { speechStart = start + samples }
      attempt(moment) { part throws(AudioIngestError) in try part.note(gap) }
    } else {
      let start = position - held.count
      guard place >= start else { return false }
      moveGaps(behind: place, by: samples)
      held.insert(contentsOf: repeatElement(0, count: samples), at: place - start)
      gaps.insert((gap, false), at: gaps.firstIndex { $0.gap.start > place } ?? gaps.endIndex)
    }
    position += samples
    return true
  }

  private func moveGaps(behind place: Int, by samples: Int) {
    for index in gaps.indices where gaps[index].gap.start >= place { gaps[index].gap.start += samples }
  }

  /// Ends the stream: what comes next begins at 0 again.
  func end(_ reason: SegmentEnd, _ moment: Moment) {
    close(reason, keep: true, moment)
    held.removeAll(keepingCapacity: true)
    gaps.removeAll(keepingCapacity: true)
    position = 0
  }

  /// Hands what waits to the kernel.
  func flush(_ moment: Moment) {
    attempt(moment) { part throws(AudioIngestError) in try part.flush() }
  }

  /// Has what was written on disk, when that is due.
  func syncIfDue(_ moment: Moment) {
    // What is made out of sight is there when all of it is.
    guard folder.parent == nil, moment.instant - lastSync >= Self.syncInterval else { return }
    lastSync = moment.instant
    attempt(moment) { part throws(AudioIngestError) in
      try part.sync()
      if try !folder.hasReserve() { try folder.makeRoom() }
    }
  }

  private func hold(_ samples: ArraySlice<Int16>) {
    held += samples
    position += samples.count
    // Now and then, so that not every block moves all of it.
    if held.count > heldLimit * 2 { held.removeFirst(held.count - heldLimit) }
    gaps.removeAll { $0.gap.end <= position - held.count }
  }

  /// - Returns: whether a segment is open now.
  private func open(_ moment: Moment, _ captured: Duration) -> Bool {
    if held.count > heldLimit { held.removeFirst(held.count - heldLimit) }
    let start = captured - .samples(held.count, at: codec.sampleRate)
    let capturedMs = moment.wallMs - (moment.instant - start).wholeMilliseconds
    do throws(AudioIngestError) {
      if retryAt != nil { happened += try folder.recover().map { .finished($0) } }
      let new = try folder.begin(device, codec, capturedAtMs: capturedMs, previous: pause(before: capturedMs))
      (part, partStart, retryAt, speechStart) = (new, position - held.count, nil, nil)
      happened.append(.began(new.info))
    } catch {
      stall(error, moment)
      return false
    }
    for index in gaps.indices { gaps[index].isNoted = false }
    append(held[...], false, moment)
    held.removeAll(keepingCapacity: true)
    return part != nil
  }

  private func pause(before capturedMs: Int64) -> SegmentInfo.Previous? {
    previous.map {
      let endMs = $0.info.capturedAtMs + Int64($0.samples) * 1000 / Int64($0.info.sampleRate)
      return SegmentInfo.Previous(id: $0.info.id, closedBy: $0.end, pause: Double(max(capturedMs - endMs, 0)) / 1000)
    }
  }

  private func append(_ samples: ArraySlice<Int16>, _ isSpeech: Bool, _ moment: Moment) {
    attempt(moment) { part throws(AudioIngestError) in
      for index in gaps.indices where !gaps[index].isNoted {
        if let gap = gaps[index].gap.clipped(to: partStart..<Int.max) { try part.note(gap) }
        gaps[index].isNoted = true
      }
      if isSpeech { speechStart = speechStart ?? part.samples } else { try noteSpeech(part) }
      try samples.withUnsafeBufferPointer { samples throws(AudioIngestError) in try part.append(samples) }
    }
  }

  private func noteSpeech(_ part: PartFile) throws(AudioIngestError) {
    guard let start = speechStart else { return }
    speechStart = nil
    try part.note(.init(start: start, samples: part.samples - start))
  }

  private func close(_ end: SegmentEnd, keep: Bool, _ moment: Moment) {
    cutter.end()
    guard let part else { return }
    self.part = nil
    do throws(AudioIngestError) {
      guard keep else {
        try folder.discard(part)
        happened.append(.dropped(part.samples))
        return
      }
      try noteSpeech(part)
    } catch {
      stall(error, moment)
    }
    do throws(AudioIngestError) {
      defer { if part.written > 0 { previous = PrecedingSegment(info: part.info, end: end, samples: part.written) } }
      if let finished = try folder.finish(part, end) { happened.append(.finished(finished)) }
    } catch {
      stall(error, moment)
    }
  }

  /// Does something with the open segment; when it fails, the segment ends where it is.
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
    if retryAt == nil { happened.append(.stalled(error)) }
    retryAt = moment.instant + Self.retryInterval
  }
}
