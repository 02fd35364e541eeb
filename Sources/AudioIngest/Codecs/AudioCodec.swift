/// What a device's frames are made with. All of it is one channel.
public enum AudioCodec: String, Sendable, Hashable, Codable, CaseIterable {
  /// 16 bit, little-endian, 16 kHz.
  case pcm16k
  /// 16 bit, little-endian, 8 kHz.
  case pcm8k
  /// µ-law (ITU-T G.711), 16 kHz.
  case muLaw16k
  /// µ-law (ITU-T G.711), 8 kHz.
  case muLaw8k
  /// Opus (RFC 6716), frames of 10 ms.
  case opus10ms
  /// Opus (RFC 6716), frames of 20 ms.
  case opus20ms

  /// What the Omi family's codec characteristic says. Its documents name 0, 1, 10, 11 and 20; 21 came with the CV1.
  /// - Throws: ``AudioIngestError`` with code `.unknownCodec`: to guess would make noise of speech.
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
        .unknownCodec, "the device names its codec \(omiIdentifier), which nobody here knows",
        hint: "its frames are kept as they are; name the codec if you know it")
    }
  }

  /// What a codec characteristic holds: one byte, more are ignored.
  /// - Throws: ``AudioIngestError`` with code `.unknownCodec`, also for nothing at all.
  public init(omiValue value: [UInt8]) throws(AudioIngestError) {
    guard let identifier = value.first else { throw AudioIngestError(.unknownCodec, "the device names no codec") }
    try self.init(omiIdentifier: identifier)
  }

  /// Samples a second, of what is decoded.
  public var sampleRate: Int {
    switch self {
    case .pcm16k, .muLaw16k, .opus10ms, .opus20ms: 16_000
    case .pcm8k, .muLaw8k: 8000
    }
  }

  /// The samples of a usual frame; what a frame really holds is known when it is decoded.
  public var frameSamples: Int {
    switch self {
    case .pcm16k, .muLaw16k, .opus10ms: 160
    case .pcm8k, .muLaw8k: 80
    case .opus20ms: 320
    }
  }

  /// How long a usual frame lasts.
  public var frameDuration: Duration { .nanoseconds(frameSamples * 1_000_000_000 / sampleRate) }

  /// How many samples a frame has, without decoding it; the usual number for one that is damaged.
  func samples(in frame: ArraySlice<UInt8>) -> Int {
    switch self {
    case .pcm16k, .pcm8k: frame.count.isMultiple(of: 2) ? frame.count / 2 : frameSamples
    case .muLaw16k, .muLaw8k: frame.count
    case .opus10ms, .opus20ms: OpusFrameDecoder.samples(in: frame, sampleRate: sampleRate) ?? frameSamples
    }
  }

  /// Makes what decodes its frames.
  /// - Throws: ``AudioIngestError`` with code `.codecFailed`.
  public func makeDecoder() throws(AudioIngestError) -> any FrameDecoder {
    switch self {
    case .pcm16k, .pcm8k: SampleDecoder(.pcm, usualSamples: frameSamples)
    case .muLaw16k, .muLaw8k: SampleDecoder(.muLaw, usualSamples: frameSamples)
    case .opus10ms, .opus20ms: try OpusFrameDecoder(sampleRate: sampleRate, usualSamples: frameSamples)
    }
  }
}
