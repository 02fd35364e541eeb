/// A recorder of one device's stream: notifications go in, segments come out.
///
/// It has no clock and no thread: the caller passes the moment of each call, and the calls write files, which may take
/// some milliseconds. Its memory is bounded: the pre-roll, 0.2 s of samples that wait to be written, and the packets held
/// by the reassembler.
///
/// ```swift
/// let folder = try SegmentFolder(path: "recordings")
/// let device = AudioDevice(address: "FA:0B:00:00:00:01", name: "Omi")
/// let recorder = try StreamRecorder(device, .pcm16k, framing: .bare, into: folder)
/// for frame in 1...100 {
///   let now = Moment(instant: .milliseconds(frame * 10), wallMs: 1_795_308_300_000 + Int64(frame) * 10)
///   recorder.receive([UInt8](repeating: 0, count: 320), at: now)
/// }
/// recorder.end(.shutdown, at: Moment(instant: .seconds(1), wallMs: 1_795_308_301_000))
/// for case .finished(let segment) in recorder.takeEvents() { print(segment.path, segment.info.samples) }
/// ```
public final class StreamRecorder {
  /// An event of a recording, for display or for further processing.
  public enum Event: Sendable, Hashable {
    /// A segment was opened, with this description so far.
    case began(SegmentInfo)
    /// A segment is complete, with its sidecar, in its folder.
    case finished(FinishedSegment)
    /// A segment was dropped for too little speech; the value is its number of samples.
    case dropped(Int)
    /// Nothing can be written now; the recorder retries every second.
    case stalled(AudioIngestError)
  }

  /// The longest shortfall that is filled with silence; for a longer one the segment ends instead.
  static let longestFill = Duration.seconds(60)
  /// The time without notifications after which missing packets are no longer waited for.
  static let idle = Duration.milliseconds(250)

  /// The codec of the stream.
  public let codec: AudioCodec
  /// The counters of the packets and frames received.
  public var counters: StreamCounters { reassembler.counters }
  /// The number of samples of the stream that are missing.
  public var missingSamples: Int { timeline.missing }
  /// The number of samples in the open segment; `nil` if none is open.
  public var openSamples: Int? { keeper.openSamples }
  /// The description so far of the open segment.
  package var openSegment: SegmentInfo? { keeper.openSegment }
  /// The segment before the next one, perhaps of another codec.
  package var previous: PrecedingSegment? {
    get { keeper.previous }
    set { keeper.previous = newValue }
  }
  /// The level of the last 20 ms, in dBFS: −120…0.
  public private(set) var level = -120.0
  /// A Boolean value that indicates whether the last 20 ms contain speech.
  public private(set) var isSpeech = false

  private var timeline: Timeline
  private var reassembler: FrameReassembler
  private var decoder: StreamDecoder
  private var detector: any VoiceActivityDetector
  private let keeper: SegmentKeeper

  /// The decoded samples that are not a complete block yet.
  private var block: [Int16] = []
  private let blockSamples: Int
  private var frames: [FrameEvent] = []
  private var samples: [Int16] = []
  private var gaps: [AudioGap] = []
  /// The instant of the last notification, until the reassembler has stopped waiting behind it.
  private var lastArrival: Duration?
  /// The instant of the last notification of this stream.
  private var lastReceived: Duration?

  /// Creates a recorder that writes into a folder.
  /// - Parameters:
  ///   - device: The device that sends the stream, for the sidecars.
  ///   - codec: The codec of the stream.
  ///   - framing: The layout of the notifications.
  ///   - folder: The folder for the segments.
  ///   - rules: The rules for what is kept, and where it is cut.
  ///   - detector: The detector of speech.
  /// - Throws: ``AudioIngestError`` with code `.codecFailed`.
  public init(
    _ device: AudioDevice, _ codec: AudioCodec, framing: PacketFraming, into folder: SegmentFolder,
    rules: SegmentRules = SegmentRules(), detector: any VoiceActivityDetector = EnergyDetector()
  ) throws(AudioIngestError) {
    self.codec = codec
    self.detector = detector
    timeline = Timeline(sampleRate: codec.sampleRate)
    reassembler = FrameReassembler(framing)
    reassembler.frameDuration = codec.frameDuration
    decoder = try StreamDecoder(codec)
    keeper = SegmentKeeper(device, codec, folder, rules)
    blockSamples = codec.sampleRate / 50
  }

  /// Records a notification of the stream.
  public func receive(_ value: [UInt8], at moment: Moment) {
    // No device buffers that much: what arrives now is new, and belongs to a segment of its own.
    if let lastReceived, moment.instant - lastReceived > Self.longestFill { end(.linkLoss, at: moment) }
    lastArrival = moment.instant
    lastReceived = moment.instant
    reassembler.receive(value, at: moment.instant, into: &frames)
    decodeFrames(moment)
    keeper.syncIfDue(moment)
  }

  /// Performs the work that is due while nothing arrives; call it four times a second.
  public func tick(at moment: Moment) {
    if let lastArrival, moment.instant - lastArrival >= Self.idle {
      self.lastArrival = nil
      reassembler.pause(at: moment.instant, into: &frames)
      decodeFrames(moment)
    }
    keeper.flush(moment)
    keeper.syncIfDue(moment)
  }

  /// Ends the open segment: the connection is lost, or the recorder stops. The next notification starts a new stream.
  public func end(_ reason: SegmentEnd, at moment: Moment) {
    reassembler.flush(at: moment.instant, into: &frames)
    decodeFrames(moment)
    reassembler.restart()
    restart(reason, moment)
    lastArrival = nil
    lastReceived = nil
  }

  /// Returns the events since the last call, and clears them.
  public func takeEvents() -> [Event] { keeper.takeEvents() }

  /// Ends the open segment, and starts positions and time at 0 again.
  private func restart(_ reason: SegmentEnd, _ moment: Moment) {
    // The rest is less than 20 ms, and belongs to the segment.
    if !block.isEmpty { keep(block[...], moment) }
    block.removeAll(keepingCapacity: true)
    keeper.end(reason, moment)
    decoder.restart()
    timeline.restart()
  }

  private func decodeFrames(_ moment: Moment) {
    for frame in frames {
      decoder.decode(frame, on: &timeline, into: &samples, gaps: &gaps)
      if case .frame = frame, let shortfall = timeline.arrived(at: moment.instant), shortfall.samples > 0 {
        if shortfall.samples > Self.longestFill.samples(at: codec.sampleRate) {
          // So long a silence would be synthetic; instead the next segment names the pause between the two.
          keepBlocks(moment)
          restart(.linkLoss, moment)
        } else {
          fill(shortfall, moment)
        }
      }
      keepBlocks(moment)
    }
    frames.removeAll(keepingCapacity: true)
  }

  /// Accounts for audio that the device never sent: where it belongs or, if that segment is full or closed, here.
  private func fill(_ shortfall: Timeline.Shortfall, _ moment: Moment) {
    guard keeper.insert(shortfall.samples, at: min(shortfall.position, timeline.kept), before: timeline.kept, moment)
    else { return decoder.fill(shortfall.samples, .unsent, on: &timeline, into: &samples, gaps: &gaps) }
    timeline.insert(shortfall.samples)
    // The gaps of the last frame lie behind it.
    for index in gaps.indices { gaps[index].start += shortfall.samples }
  }

  /// Passes the decoded samples on, in blocks of 20 ms.
  private func keepBlocks(_ moment: Moment) {
    for gap in gaps { keeper.add(gap) }
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
    var loudness = SoundLevel()
    samples.withUnsafeBufferPointer {
      loudness.add($0)
      level = loudness.rms
      isSpeech = detector.isSpeech($0)
    }
    let captured = timeline.instant(of: timeline.kept) ?? moment.instant
    let next = SegmentKeeper.Block(
      samples: samples, energy: loudness.sum, start: timeline.kept, isSpeech: isSpeech, captured: captured)
    keeper.keep(next, moment)
    timeline.keep(samples.count)
  }
}
