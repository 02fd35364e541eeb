/// Records the stream of one device: notifications go in, segments come out.
///
/// It has no clock and no thread: the caller says when things happen, and its calls write files, which may take a
/// moment. What it holds is bounded: the pre-roll, 0.2 s of samples that wait to be written, and what the reassembler
/// keeps.
public final class StreamRecorder {
  /// Something a person may want to know.
  public enum Event: Sendable, Hashable {
    /// A segment was begun.
    case began(SegmentInfo)
    /// A segment is in its folder.
    case finished(FinishedSegment)
    /// A segment had too little speech and was dropped; so many samples.
    case dropped(Int)
    /// Nothing can be written now; it is tried again every second.
    case stalled(AudioIngestError)
  }

  /// Nothing longer is filled in: the segment ends instead.
  static let longestFill = Duration.seconds(60)
  /// How long a missing packet may hold up those behind it when nothing else comes.
  static let idle = Duration.milliseconds(250)

  /// What it encodes with.
  public let codec: AudioCodec
  /// What came from the device.
  public var counters: StreamCounters { reassembler.counters }
  /// How many samples of the stream are missing.
  public var missingSamples: Int { decoder.missing }
  /// How many samples the open segment has; `nil` when none is open.
  public var openSamples: Int? { keeper.openSamples }
  /// What is known so far of the open segment.
  var openSegment: SegmentInfo? { keeper.openSegment }
  /// What was recorded before, perhaps with another codec.
  var previous: PrecedingSegment? {
    get { keeper.previous }
    set { keeper.previous = newValue }
  }
  /// How loud the last 20 ms were, in dB of full scale.
  public private(set) var level = -120.0
  /// Whether somebody speaks in them.
  public private(set) var isSpeech = false

  private var reassembler: FrameReassembler
  private var decoder: StreamDecoder
  private var arrivals: ArrivalClock
  private var detector: any VoiceActivityDetector
  private let keeper: SegmentKeeper

  /// Decoded samples that are not a whole block yet.
  private var block: [Int16] = []
  private let blockSamples: Int
  private var frames: [FrameEvent] = []
  private var samples: [Int16] = []
  private var gaps: [AudioGap] = []
  private var lastArrival: Duration?
  /// When a notification came last, of this stream.
  private var lastHeard: Duration?

  /// Records into a folder.
  /// - Throws: ``AudioIngestError`` with code `.codecFailed`.
  public init(
    _ device: AudioDevice, _ codec: AudioCodec, framing: PacketFraming, into folder: SegmentFolder,
    rules: SegmentRules = SegmentRules(), detector: any VoiceActivityDetector = EnergyDetector()
  ) throws(AudioIngestError) {
    (self.codec, self.detector) = (codec, detector)
    reassembler = FrameReassembler(framing)
    reassembler.frameDuration = codec.frameDuration
    decoder = try StreamDecoder(codec)
    arrivals = ArrivalClock(sampleRate: codec.sampleRate)
    keeper = SegmentKeeper(device, codec, folder, rules)
    blockSamples = codec.sampleRate / 50
  }

  /// Takes a notification.
  public func take(_ value: [UInt8], at moment: Moment) {
    // No device keeps so much for later: what comes is new, and belongs into a segment of its own.
    if let lastHeard, moment.instant - lastHeard > Self.longestFill { end(.linkLoss, at: moment) }
    (lastArrival, lastHeard) = (moment.instant, moment.instant)
    reassembler.take(value, at: moment.instant, into: &frames)
    hear(moment)
    keeper.syncIfDue(moment)
  }

  /// Does what is due when nothing arrives; to be called four times a second.
  public func tick(at moment: Moment) {
    if let lastArrival, moment.instant - lastArrival >= Self.idle {
      self.lastArrival = nil
      reassembler.pause(at: moment.instant, into: &frames)
      hear(moment)
    }
    keeper.flush(moment)
    keeper.syncIfDue(moment)
  }

  /// Ends the open segment: the link is gone, or the recorder is to stop. What comes next begins anew.
  public func end(_ reason: SegmentEnd, at moment: Moment) {
    reassembler.flush(at: moment.instant, into: &frames)
    hear(moment)
    reassembler.restart()
    restart(reason, moment)
    (lastArrival, lastHeard) = (nil, nil)
  }

  /// Takes what happened since the last call.
  public func takeEvents() -> [Event] { keeper.takeEvents() }

  /// Counts samples and time from 0 again.
  private func restart(_ reason: SegmentEnd, _ moment: Moment) {
    // What is left is less than 20 ms, and is heard too.
    if !block.isEmpty { keep(block[...], moment) }
    block.removeAll(keepingCapacity: true)
    keeper.end(reason, moment)
    decoder.restart()
    arrivals = ArrivalClock(sampleRate: codec.sampleRate)
  }

  private func hear(_ moment: Moment) {
    for frame in frames {
      decoder.take(frame, into: &samples, gaps: &gaps)
      if case .frame = frame {
        let (missing, place) = arrivals.note(decoder.position, at: moment.instant)
        if missing > Self.longestFill.samples(at: codec.sampleRate) {
          // So long a silence would only be made up; the next segment says what is between the two.
          keepBlocks(moment)
          restart(.linkLoss, moment)
        } else if missing > 0 {
          fill(missing, at: place, moment)
        }
      }
      keepBlocks(moment)
    }
    frames.removeAll(keepingCapacity: true)
  }

  /// Accounts for what the device never sent: where it belongs or, when that segment is full or gone, here.
  private func fill(_ missing: Int, at place: Int, _ moment: Moment) {
    guard keeper.insert(missing, at: place, moment) else {
      return decoder.fill(missing, .unsent, into: &samples, gaps: &gaps)
    }
    decoder.skip(missing)
    // Those of the last frame lie behind it.
    for index in gaps.indices { gaps[index].start += missing }
  }

  /// Passes on what is decoded, in blocks of 20 ms.
  private func keepBlocks(_ moment: Moment) {
    for gap in gaps { keeper.note(gap) }
    gaps.removeAll(keepingCapacity: true)
    var rest = samples[...]
    if !block.isEmpty {
      let wanted = min(blockSamples - block.count, rest.count)
      block += rest.prefix(wanted)
      rest = rest.dropFirst(wanted)
      if block.count == blockSamples {
        keep(block[...], moment)
        block.removeAll(keepingCapacity: true)
      }
    }
    while rest.count >= blockSamples {
      keep(rest.prefix(blockSamples), moment)
      rest = rest.dropFirst(blockSamples)
    }
    block += rest
    samples.removeAll(keepingCapacity: true)
  }

  private func keep(_ samples: ArraySlice<Int16>, _ moment: Moment) {
    samples.withUnsafeBufferPointer {
      var loudness = SoundLevel()
      loudness.add($0)
      level = loudness.rms
      isSpeech = detector.isSpeech($0)
    }
    keeper.take(samples, isSpeech: isSpeech, moment, captured: arrivals.instant(of: keeper.position) ?? moment.instant)
  }
}

/// When something happens, on both clocks.
public struct Moment: Sendable, Hashable {
  /// On a monotonic clock.
  public var instant: Duration
  /// On the wall: Unix milliseconds.
  public var wallMs: Int64

  /// Names a moment.
  public init(instant: Duration, wallMs: Int64) {
    self.instant = instant
    self.wallMs = wallMs
  }
}
