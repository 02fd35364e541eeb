/// The reason why a segment ended.
public enum SegmentEnd: String, Sendable, Hashable, Codable {
  /// No more speech followed within the time that the rules allow.
  case silence
  /// The segment reached its longest duration.
  case maximum
  /// The connection to the device was lost.
  case linkLoss
  /// The device continued with another codec.
  case codecChange
  /// The user or the program stopped the recorder.
  case shutdown
  /// The segment holds all that the device had stored of this stretch.
  case storeEnd
  /// The disk or the quota was full.
  case noSpace
  /// The disk failed for another reason.
  case diskFailed
  /// The recorder ended without closing the segment, and a later one recovered it.
  case recovered
}

/// A state machine that decides where segments start and end, without a clock or files: blocks of samples go in, actions
/// come out.
///
/// Each block has exactly one action, so it is returned alone: an array would cost an allocation for every 20 ms.
struct SegmentCutter {
  /// The action to perform with a block.
  enum Action: Hashable {
    /// Hold the block: it may become the start of a segment.
    case hold
    /// Open a segment with the held samples, and append the block.
    case open
    /// Append the block to the open segment.
    case append
    /// Append the block to the open segment, and then close that.
    case close(SegmentEnd, keep: Bool)
  }

  private enum State {
    case closed
    case open(length: Int, sinceSpeech: Int, speech: Int)
  }

  let rules: SegmentRules
  private let maximum: Int
  private let silence: Int
  private let minimumSpeech: Int
  private var state = State.closed

  init(_ rules: SegmentRules, sampleRate: Int) {
    self.rules = rules
    maximum = rules.maximum.samples(at: sampleRate)
    silence = rules.silence.samples(at: sampleRate)
    minimumSpeech = rules.minimumSpeech.samples(at: sampleRate)
  }

  /// Accepts the next block.
  /// - Parameters:
  ///   - samples: The number of samples in the block.
  ///   - isSpeech: A Boolean value that indicates whether the block has speech.
  ///   - held: The number of held samples, which a segment that opens now starts with.
  mutating func handle(_ samples: Int, isSpeech: Bool, held: Int) -> Action {
    guard case .open(var length, var sinceSpeech, var speech) = state else {
      guard isSpeech || rules.mode == .everything else { return .hold }
      state = .open(length: held + samples, sinceSpeech: 0, speech: isSpeech ? samples : 0)
      return .open
    }
    length += samples
    speech += isSpeech ? samples : 0
    sinceSpeech = isSpeech ? 0 : sinceSpeech + samples
    state = .open(length: length, sinceSpeech: sinceSpeech, speech: speech)
    if rules.mode == .speech, sinceSpeech >= silence {
      state = .closed
      return .close(.silence, keep: speech >= minimumSpeech)
    }
    // The next block must fit, too.
    if length + samples > maximum {
      state = .closed
      return .close(.maximum, keep: true)
    }
    return .append
  }

  /// Lengthens the open segment by samples that are inserted between those it has.
  /// - Returns: `false` if no segment is open, or it would become too long; the state is then unchanged.
  mutating func grow(by samples: Int) -> Bool {
    guard case .open(let length, let sinceSpeech, let speech) = state, length + samples <= maximum else { return false }
    state = .open(length: length + samples, sinceSpeech: sinceSpeech, speech: speech)
    return true
  }

  /// Closes the open segment for another reason.
  mutating func end() { state = .closed }
}
