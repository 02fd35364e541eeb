/// A detector that decides which blocks of audio contain speech.
///
/// ```swift
/// struct Everything: VoiceActivityDetector {
///   mutating func isSpeech(_ block: UnsafeBufferPointer<Int16>) -> Bool { true }
/// }
/// ```
public protocol VoiceActivityDetector {
  /// Returns `true` if the next 20 ms contain speech.
  /// - Parameter block: One channel with `sampleRate / 50` samples.
  mutating func isSpeech(_ block: UnsafeBufferPointer<Int16>) -> Bool
}

/// A detector that treats audio as speech when it is clearly louder than the background.
///
/// The background level adapts while there is no speech, quickly when it falls and slowly when it rises. A noise that
/// starts and stays therefore counts as speech for some seconds, and then as background.
///
/// ```swift
/// var detector = EnergyDetector()
/// let silence = [Int16](repeating: 0, count: 320)
/// print(silence.withUnsafeBufferPointer { detector.isSpeech($0) })  // false
/// ```
public struct EnergyDetector: VoiceActivityDetector, Sendable {
  /// The thresholds of the decision.
  public struct Settings: Sendable, Hashable {
    /// The level of the softest speech: its root mean square in dBFS.
    public var softest = -36.9
    /// The ratio of speech to background, in amplitudes.
    public var ratio = 2.2
    /// The factor by which the threshold is lowered during speech.
    public var release = 0.8
    /// The number of blocks that count as speech behind the last loud one.
    public var hangover = 12

    /// Creates the default thresholds, which Nirva's app derived from many recordings.
    public init() {}
  }

  private let settings: Settings
  private let softest: Double
  /// The background level as an amplitude, 0…1; `nil` until the first block.
  private var background: Double?
  private var remaining = 0

  /// Creates a detector for one stream.
  public init(_ settings: Settings = Settings()) {
    self.settings = settings
    softest = SoundLevel.amplitude(ofDecibels: settings.softest)
  }

  /// Returns `true` if the next 20 ms contain speech; an empty block does not.
  public mutating func isSpeech(_ block: UnsafeBufferPointer<Int16>) -> Bool {
    guard !block.isEmpty else { return false }
    var level = SoundLevel()
    level.add(block)
    let amplitude = level.amplitude
    let floor = background ?? min(amplitude, softest)
    let threshold = max(floor * settings.ratio, softest) * (remaining > 0 ? settings.release : 1)
    let isLoud = amplitude > threshold
    remaining = isLoud ? settings.hangover : max(remaining - 1, 0)
    // Time constants: 0.1 s down, 1 s up, and 10 s up when the sound may be a voice.
    let step = amplitude < floor ? 0.2 : isLoud ? 0.002 : 0.02
    background = floor + (amplitude - floor) * step
    return isLoud || remaining > 0
  }
}
