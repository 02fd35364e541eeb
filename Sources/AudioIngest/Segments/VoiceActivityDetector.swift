/// Says in which blocks somebody speaks.
public protocol VoiceActivityDetector {
  /// Judges the next 20 ms.
  /// - Parameter block: one channel, `sampleRate / 50` samples.
  mutating func isSpeech(_ block: UnsafeBufferPointer<Int16>) -> Bool
}

/// Takes for speech what is clearly louder than the background, whose level it follows.
///
/// The background is followed while nobody speaks, quickly when it becomes softer and slowly when it becomes louder. A
/// noise that begins and stays is therefore taken for speech for some seconds and then for background.
public struct EnergyDetector: VoiceActivityDetector, Sendable {
  /// How it decides.
  public struct Settings: Sendable, Hashable {
    /// The softest speech, as the root of the mean square, in dB below full scale.
    public var softest = -36.9
    /// How much louder than the background speech is, as a ratio of amplitudes.
    public var ratio = 2.2
    /// By how much the threshold is lowered while somebody speaks, as a factor.
    public var release = 0.8
    /// For how many blocks speech goes on behind the last loud one.
    public var hangover = 12

    /// The values of Nirva's app: it had them from many recordings.
    public init() {}
  }

  private let settings: Settings
  private let softest: Double
  /// The background, as an amplitude from 0 to 1; `nil` until the first block.
  private var background: Double?
  private var remaining = 0

  /// Makes a detector for one stream.
  public init(_ settings: Settings = Settings()) {
    self.settings = settings
    softest = SoundLevel.amplitude(ofDecibels: settings.softest)
  }

  /// Judges the next 20 ms; an empty block is none.
  public mutating func isSpeech(_ block: UnsafeBufferPointer<Int16>) -> Bool {
    guard !block.isEmpty else { return false }
    var level = SoundLevel()
    level.add(block)
    let amplitude = level.amplitude
    let floor = background ?? min(amplitude, softest)
    let threshold = max(floor * settings.ratio, softest) * (remaining > 0 ? settings.release : 1)
    let isLoud = amplitude > threshold
    remaining = isLoud ? settings.hangover : max(remaining - 1, 0)
    // Down in a tenth of a second, up in a second, and in ten when it may be a voice.
    let step = amplitude < floor ? 0.2 : isLoud ? 0.002 : 0.02
    background = floor + (amplitude - floor) * step
    return isLoud || remaining > 0
  }
}
