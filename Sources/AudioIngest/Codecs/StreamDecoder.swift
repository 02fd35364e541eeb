/// A decoder of a device's stream that keeps its time: missing frames become gaps with as many samples as they had.
///
/// ```swift
/// var timeline = Timeline(sampleRate: AudioCodec.pcm16k.sampleRate)
/// var decoder = try StreamDecoder(.pcm16k)
/// var samples: [Int16] = []
/// var gaps: [AudioGap] = []
/// decoder.decode(.frame([UInt8](repeating: 0, count: 320)[...]), on: &timeline, into: &samples, gaps: &gaps)
/// decoder.decode(.lost(2), on: &timeline, into: &samples, gaps: &gaps)
/// print(samples.count, gaps[0].start, gaps[0].samples)  // 480 160 320
/// ```
public struct StreamDecoder {
  /// The longest part of a gap that is synthesized from the samples before it; the rest is silence.
  public static let concealment = Duration.milliseconds(100)

  /// The codec of the stream.
  public let codec: AudioCodec

  private let decoder: any FrameDecoder
  private let concealedSamples: Int
  /// The number of samples in the last frame, which a missing frame is assumed to have.
  private var frameSamples: Int
  /// The number of concealed samples since the last frame.
  private var concealedRun = 0

  /// Creates a decoder for a stream that starts with its first frame.
  /// - Throws: ``AudioIngestError`` with code `.codecFailed`.
  public init(_ codec: AudioCodec) throws(AudioIngestError) {
    self.codec = codec
    decoder = try codec.makeDecoder()
    concealedSamples = codec.sampleRate / 10
    frameSamples = codec.frameSamples
  }

  /// Prepares for another stream of the same codec.
  public mutating func restart() {
    decoder.reset()
    concealedRun = 0
    frameSamples = codec.frameSamples
  }

  /// Decodes the next element of the stream.
  /// - Parameters:
  ///   - event: A frame, or a note that frames are missing.
  ///   - timeline: The stream's positions, which move forward.
  ///   - samples: The array to append the samples to.
  ///   - gaps: The array to append a gap to, with its position in the stream.
  public mutating func decode(
    _ event: FrameEvent, on timeline: inout Timeline, into samples: inout [Int16], gaps: inout [AudioGap]
  ) {
    switch event {
    case .frame(let frame):
      let before = samples.count
      do {
        try decoder.decode(frame, into: &samples)
        frameSamples = samples.count - before
        timeline.decode(frameSamples)
        concealedRun = 0
      } catch {
        // The gap reports the damage, and its length is known: that of the frame before.
        fill(frameSamples, .damaged, on: &timeline, into: &samples, gaps: &gaps)
      }
    case .lost(let frames): fill(frames * frameSamples, .lost, on: &timeline, into: &samples, gaps: &gaps)
    case .restarted: decoder.reset()
    }
  }

  /// Appends a gap: up to 100 ms of concealment, then silence.
  /// - Parameters:
  ///   - count: The number of samples; nothing happens for 0 or less.
  ///   - reason: The reason that the gap names.
  ///   - timeline: The stream's positions, which move forward.
  ///   - samples: The array to append the samples to.
  ///   - gaps: The array to append the gap to.
  public mutating func fill(
    _ count: Int, _ reason: AudioGap.Reason, on timeline: inout Timeline, into samples: inout [Int16],
    gaps: inout [AudioGap]
  ) {
    guard count > 0 else { return }
    let concealed = min(count, concealedSamples - concealedRun)
    decoder.conceal(concealed, into: &samples)
    samples.append(contentsOf: repeatElement(0, count: count - concealed))
    concealedRun += concealed
    gaps.append(AudioGap(start: timeline.decoded, samples: count, concealed: concealed, reason: reason))
    timeline.fill(count)
  }
}
