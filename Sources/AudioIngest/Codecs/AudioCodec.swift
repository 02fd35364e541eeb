/// A codec of a wearable's frames, with its sample rate; the audio has one channel.
///
/// ```swift
/// let codec = try AudioCodec(omiIdentifier: 21)
/// print(codec, codec.sampleRate, codec.frameDuration)  // opus20ms 16000 0.02 seconds
/// ```
public enum AudioCodec: String, Sendable, Hashable, Codable, CaseIterable {
  /// Linear PCM of 16 bits, little-endian, at 16 kHz.
  case pcm16k
  /// Linear PCM of 16 bits, little-endian, at 8 kHz.
  case pcm8k
  /// The µ-law encoding of ITU-T G.711, at 16 kHz.
  case muLaw16k
  /// The µ-law encoding of ITU-T G.711, at 8 kHz.
  case muLaw8k
  /// Opus (RFC 6716) in frames of 10 ms, at 16 kHz.
  case opus10ms
  /// Opus (RFC 6716) in frames of 20 ms, at 16 kHz.
  case opus20ms

  /// Creates the codec of an identifier in the Omi family's codec characteristic.
  /// - Parameter omiIdentifier: 0, 1, 10, 11 or 20, as in the family's documents, or 21, which came with the CV1.
  /// - Throws: ``AudioIngestError`` with code `.unknownCodec` for any other: a guess would turn speech into noise.
  public init(omiIdentifier: UInt8) throws(AudioIngestError) {
    switch omiIdentifier {
    case 0: self = .pcm16k
    // One document says 8 bit; what devices send is 16 bit.
    case 1: self = .pcm8k
    case 10: self = .muLaw16k
    case 11: self = .muLaw8k
    case 20: self = .opus10ms
    case 21: self = .opus20ms
    default:
      throw AudioIngestError(
        .unknownCodec, "the device reports codec \(omiIdentifier); supported: 0, 1, 10, 11, 20, 21",
        hint: "its packets are stored undecoded; specify the codec if you know it")
    }
  }

  /// Creates the codec of a value of the Omi family's codec characteristic.
  /// - Parameter value: One byte with the identifier; further bytes are ignored.
  /// - Throws: ``AudioIngestError`` with code `.unknownCodec`, also for an empty value.
  public init(omiValue value: [UInt8]) throws(AudioIngestError) {
    guard let identifier = value.first else {
      throw AudioIngestError(.unknownCodec, "the device reports no codec: the value is empty")
    }
    try self.init(omiIdentifier: identifier)
  }

  /// The number of decoded samples per second.
  public var sampleRate: Int {
    switch self {
    case .pcm16k, .muLaw16k, .opus10ms, .opus20ms: 16_000
    case .pcm8k, .muLaw8k: 8000
    }
  }

  /// The number of samples in a usual frame; a decoded frame may have another number.
  public var frameSamples: Int {
    switch self {
    case .pcm16k, .muLaw16k, .opus10ms: 160
    case .pcm8k, .muLaw8k: 80
    case .opus20ms: 320
    }
  }

  /// The duration of a usual frame.
  public var frameDuration: Duration { .nanoseconds(frameSamples * 1_000_000_000 / sampleRate) }

  /// Returns the number of samples in a frame without decoding it; the usual number for a damaged frame.
  func samples(in frame: ArraySlice<UInt8>) -> Int {
    switch self {
    case .pcm16k, .pcm8k: frame.count.isMultiple(of: 2) ? frame.count / 2 : frameSamples
    case .muLaw16k, .muLaw8k: frame.count
    case .opus10ms, .opus20ms: OpusFrameDecoder.samples(in: frame, sampleRate: sampleRate) ?? frameSamples
    }
  }

  /// Creates a decoder for frames of this codec.
  /// - Throws: ``AudioIngestError`` with code `.codecFailed`.
  public func makeDecoder() throws(AudioIngestError) -> any FrameDecoder {
    switch self {
    case .pcm16k, .pcm8k: SampleDecoder(.pcm, usualSamples: frameSamples)
    case .muLaw16k, .muLaw8k: SampleDecoder(.muLaw, usualSamples: frameSamples)
    case .opus10ms, .opus20ms: try OpusFrameDecoder(sampleRate: sampleRate, usualSamples: frameSamples)
    }
  }
}
