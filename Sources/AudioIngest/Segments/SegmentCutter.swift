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
    /// Append the block to the open segment, and then end that at an earlier position: what is behind it belongs to the
    /// next segment, which is open now.
    case split(at: Int)
  }

  /// A block of samples: its number of samples, the sum of their squares, and whether it has speech.
  struct Block {
    var samples: Int
    var energy: Int
    var isSpeech: Bool
  }

  private enum State {
    case closed
    case open(length: Int, sinceSpeech: Int, speech: Int)
  }

  let rules: SegmentRules
  private let maximum: Int
  /// The number of samples before the maximum in which a quiet place is looked for.
  private let quiet: Int
  private let silence: Int
  private let minimumSpeech: Int
  private var state = State.closed
  private var place: QuietPlace

  init(_ rules: SegmentRules, sampleRate: Int) {
    self.rules = rules
    maximum = rules.maximum.samples(at: sampleRate)
    quiet = rules.quietSearch.samples(at: sampleRate)
    place = QuietPlace(from: maximum - quiet)
    silence = rules.silence.samples(at: sampleRate)
    minimumSpeech = rules.minimumSpeech.samples(at: sampleRate)
  }

  /// Accepts the next block.
  /// - Parameters:
  ///   - block: The block.
  ///   - held: The number of held samples, which a segment that opens now starts with.
  mutating func handle(_ block: Block, held: Int) -> Action {
    let samples = block.samples
    guard case .open(var length, var sinceSpeech, var speech) = state else {
      guard block.isSpeech || rules.mode == .everything else { return .hold }
      state = .open(length: held + samples, sinceSpeech: 0, speech: block.isSpeech ? samples : 0)
      place = QuietPlace(from: maximum - quiet)
      return .open
    }
    length += samples
    speech += block.isSpeech ? samples : 0
    sinceSpeech = block.isSpeech ? 0 : sinceSpeech + samples
    state = .open(length: length, sinceSpeech: sinceSpeech, speech: speech)
    place.add(samples, energy: block.energy, before: length)
    if rules.mode == .speech, sinceSpeech >= silence {
      state = .closed
      return .close(.silence, keep: speech >= minimumSpeech)
    }
    // The next block must fit, too.
    if length + samples > maximum { return full(length, sinceSpeech, speech) }
    return .append
  }

  /// Ends a segment of the longest duration where it is quiet.
  private mutating func full(_ length: Int, _ sinceSpeech: Int, _ speech: Int) -> Action {
    // Behind the last speech it is quiet, and a segment of speech ends anyway.
    guard let cut = place.position, cut < length, rules.mode == .everything || length - sinceSpeech > cut else {
      state = .closed
      return .close(.maximum, keep: true)
    }
    // The count of speech stays: what belongs to a kept segment is kept.
    state = .open(length: length - cut, sinceSpeech: sinceSpeech, speech: speech)
    place = QuietPlace(from: maximum - quiet)
    return .split(at: cut)
  }

  /// Lengthens the open segment by samples that are inserted at a position between those it has.
  /// - Returns: `false` if no segment is open, or it would become too long; the state is then unchanged.
  mutating func grow(by samples: Int, at position: Int) -> Bool {
    guard case .open(let length, let sinceSpeech, let speech) = state, length + samples <= maximum else { return false }
    state = .open(length: length + samples, sinceSpeech: sinceSpeech, speech: speech)
    place.insert(samples, at: position)
    return true
  }

  /// Closes the open segment for another reason.
  mutating func end() { state = .closed }
}
