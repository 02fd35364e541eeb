/// The rules for what is kept of a stream, and where one segment ends and the next starts.
///
/// Everything is counted in samples, so that neither a slow connection nor a change of the wall clock moves a cut.
///
/// ```swift
/// let rules = SegmentRules(mode: .speech, silence: .seconds(5), maximum: .seconds(60))
/// print(rules.preRoll)  // 1.0 seconds
/// ```
public struct SegmentRules: Sendable, Hashable {
  /// The part of a stream that is kept.
  public enum Mode: String, Sendable, Hashable, Codable, CaseIterable {
    /// All audio is kept; the sidecar names the ranges with speech.
    case everything
    /// Speech is kept, with the audio shortly before and behind it.
    case speech
  }

  /// The part of a stream that is kept.
  public var mode: Mode
  /// The time without speech after which a segment of speech ends, 0.2 s to the maximum; 10 s by default.
  public var silence: Duration
  /// The longest duration of a segment, 2 s to 1 h; 3 min by default.
  public var maximum: Duration
  /// The part before the longest duration in which a segment ends: in the middle of its quietest 200 ms. 0 s to a third of
  /// the maximum; 20 s by default, or the third. With 0 s a segment always has its longest duration.
  public var quietSearch: Duration
  /// The audio before the first speech that belongs to a segment of speech, 1 s to 10 s; 1 s by default.
  public var preRoll: Duration
  /// The duration of speech below which a segment ended by silence is dropped; 0.25 s by default.
  public var minimumSpeech: Duration

  /// Creates rules, and moves each value into its range.
  ///
  /// The maximum is 2 s to 1 h, the silence 0.2 s to the maximum, the pre-roll 1 s to half of the maximum and at most
  /// 10 s, the minimum of speech 0 s to the maximum, the search for a quiet place 0 s to a third of the maximum.
  public init(
    mode: Mode = .everything, silence: Duration = .seconds(10), maximum: Duration = .seconds(180),
    preRoll: Duration = .seconds(1), minimumSpeech: Duration = .milliseconds(250), quietSearch: Duration = .seconds(20)
  ) {
    self.mode = mode
    self.maximum = min(max(maximum, .seconds(2)), .seconds(3600))
    self.silence = min(max(silence, .milliseconds(200)), self.maximum)
    self.preRoll = min(max(preRoll, .seconds(1)), .seconds(10), self.maximum / 2)
    self.minimumSpeech = min(max(minimumSpeech, .zero), self.maximum)
    self.quietSearch = min(max(quietSearch, .zero), self.maximum / 3)
  }
}
