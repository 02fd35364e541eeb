/// Decodes a stream and keeps its time: where frames are missing it puts as many samples as they would have had, and
/// notes the gap.
public struct StreamDecoder {
  /// For how long what is missing is made up from what was heard; beyond that it is silence.
  public static let concealment = Duration.milliseconds(100)

  /// The codec of the stream.
  public let codec: AudioCodec
  /// How many samples were made so far; the next one has this position.
  public private(set) var position = 0
  /// How many samples are in gaps, of this stream and those before it.
  public private(set) var missing = 0

  private let decoder: any FrameDecoder
  private let concealedSamples: Int
  /// The samples of the last frame: so many had one that is missing.
  private var frameSamples: Int
  /// What is concealed so far since the last frame.
  private var concealedRun = 0

  /// Decodes a stream from its beginning.
  /// - Throws: ``AudioIngestError`` with code `.codecFailed`.
  public init(_ codec: AudioCodec) throws(AudioIngestError) {
    self.codec = codec
    decoder = try codec.makeDecoder()
    concealedSamples = codec.sampleRate / 10
    frameSamples = codec.frameSamples
  }

  /// Begins another stream of the codec, at position 0.
  public mutating func restart() {
    decoder.reset()
    (position, concealedRun, frameSamples) = (0, 0, codec.frameSamples)
  }

  /// Takes what came next.
  /// - Parameters:
  ///   - event: a frame, or what is missing.
  ///   - samples: what is heard is appended here.
  ///   - gaps: a gap is appended here, with its position in the stream.
  public mutating func take(_ event: FrameEvent, into samples: inout [Int16], gaps: inout [AudioGap]) {
    switch event {
    case .frame(let frame):
      let before = samples.count
      do {
        try decoder.decode(frame, into: &samples)
        frameSamples = samples.count - before
        position += frameSamples
        concealedRun = 0
      } catch {
        // What it should have been is known; the gap says why it is not there.
        fill(frameSamples, .damaged, into: &samples, gaps: &gaps)
      }
    case .lost(let frames): fill(frames * frameSamples, .lost, into: &samples, gaps: &gaps)
    case .restarted: decoder.reset()
    }
  }

  /// Counts samples that were put in before those that are decoded already.
  public mutating func skip(_ count: Int) {
    position += count
    missing += count
  }

  /// Puts samples where nothing was heard.
  public mutating func fill(
    _ count: Int, _ reason: AudioGap.Reason, into samples: inout [Int16], gaps: inout [AudioGap]
  ) {
    guard count > 0 else { return }
    let concealed = min(count, concealedSamples - concealedRun)
    decoder.conceal(concealed, into: &samples)
    samples.append(contentsOf: repeatElement(0, count: count - concealed))
    concealedRun += concealed
    gaps.append(AudioGap(start: position, samples: count, concealed: concealed, reason: reason))
    position += count
    missing += count
  }
}
