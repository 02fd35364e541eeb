/// Why a segment ended.
public enum SegmentEnd: String, Sendable, Hashable, Codable {
  /// Nobody spoke any more.
  case silence
  /// It had the maximum length.
  case maximum
  /// The link was gone.
  case linkLoss
  /// The device went on with another codec.
  case codecChange
  /// The recorder was told to stop.
  case shutdown
  /// It is all that the device had stored of it.
  case storeEnd
  /// There was no room for more.
  case noSpace
  /// The disk failed for another reason.
  case diskFailed
  /// The recorder had ended without closing it; the next one did.
  case recovered
}

/// Decides where segments begin and end. A value without clock or files: blocks of samples go in, decisions come out.
struct SegmentCutter {
  /// What is to be done with a block.
  enum Decision: Hashable {
    /// It may become the beginning of a segment.
    case hold
    /// A segment begins with what was held and goes on with this block.
    case open
    /// It belongs to the open segment.
    case append
    /// The same, and then the segment ends.
    case close(SegmentEnd, keep: Bool)
  }

  let rules: SegmentRules
  private let maximum: Int
  private let silence: Int
  private let minimumSpeech: Int
  private(set) var isOpen = false
  private var length = 0
  private var sinceSpeech = 0
  private var speech = 0

  init(_ rules: SegmentRules, sampleRate: Int) {
    self.rules = rules
    maximum = rules.maximum.samples(at: sampleRate)
    silence = rules.silence.samples(at: sampleRate)
    minimumSpeech = rules.minimumSpeech.samples(at: sampleRate)
  }

  /// Takes the next block.
  /// - Parameters:
  ///   - samples: its length.
  ///   - isSpeech: whether somebody speaks in it.
  ///   - held: how many samples are held, of which a segment that begins now takes all.
  mutating func take(_ samples: Int, isSpeech: Bool, held: Int) -> Decision {
    if !isOpen {
      guard isSpeech || rules.mode == .everything else { return .hold }
      isOpen = true
      (length, sinceSpeech, speech) = (held + samples, 0, isSpeech ? samples : 0)
      return .open
    }
    length += samples
    speech += isSpeech ? samples : 0
    sinceSpeech = isSpeech ? 0 : sinceSpeech + samples
    if rules.mode == .speech, sinceSpeech >= silence { return close(.silence) }
    // The next block must fit, too.
    if length + samples > maximum { return close(.maximum) }
    return .append
  }

  /// Puts samples into the open segment, between those that it has.
  /// - Returns: `false` when it would become too long; then it is as it was.
  mutating func grow(by samples: Int) -> Bool {
    guard isOpen, length + samples <= maximum else { return false }
    length += samples
    return true
  }

  /// Ends the open segment for another reason.
  mutating func end() { isOpen = false }

  private mutating func close(_ end: SegmentEnd) -> Decision {
    isOpen = false
    return .close(end, keep: end != .silence || speech >= minimumSpeech)
  }
}
