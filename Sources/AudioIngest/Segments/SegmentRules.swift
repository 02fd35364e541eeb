/// What is recorded, and where one segment ends and the next begins. All of it is counted in samples, so that neither a
/// slow link nor a clock that is set changes where a cut is.
public struct SegmentRules: Sendable, Hashable {
  /// What of a stream is kept.
  public enum Mode: String, Sendable, Hashable, Codable, CaseIterable {
    /// All of it; where speech is stands in the sidecar.
    case everything
    /// Speech, with what was before and behind it.
    case speech
  }

  /// What is kept.
  public var mode: Mode
  /// A segment of speech ends when nobody has spoken for so long.
  public var silence: Duration
  /// No segment is longer.
  public var maximum: Duration
  /// So much of what was heard before somebody spoke belongs to a segment of speech, 1 s or more.
  public var preRoll: Duration
  /// A segment of speech with less speech than this is dropped, unless something other than silence ended it.
  public var minimumSpeech: Duration

  /// Makes rules; each value is brought into its range: maximum 2 s to 1 h, silence 0.2 s to
  /// the maximum, pre-roll 1 s to half of the maximum and 10 s at most.
  public init(
    mode: Mode = .everything, silence: Duration = .seconds(10), maximum: Duration = .seconds(180),
    preRoll: Duration = .seconds(1), minimumSpeech: Duration = .milliseconds(250)
  ) {
    self.mode = mode
    self.maximum = min(max(maximum, .seconds(2)), .seconds(3600))
    self.silence = min(max(silence, .milliseconds(200)), self.maximum)
    self.preRoll = min(max(preRoll, .seconds(1)), .seconds(10), self.maximum / 2)
    self.minimumSpeech = min(max(minimumSpeech, .zero), self.maximum)
  }
}

extension Duration {
  /// Whole samples of a rate, rounded down.
  func samples(at rate: Int) -> Int {
    let (seconds, attoseconds) = components
    return Int(seconds) * rate + Int(attoseconds / 1_000_000_000) * rate / 1_000_000_000
  }

  /// So many samples of a rate.
  static func samples(_ count: Int, at rate: Int) -> Duration {
    .seconds(count / rate) + .nanoseconds(count % rate * 1_000_000_000 / rate)
  }

  /// Rounded to the nearest.
  var wholeMilliseconds: Int64 {
    components.seconds * 1000 + (components.attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000
  }
}
