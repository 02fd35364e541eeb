// The ranges of the numbers in sidecars and logs. Whoever reads one computes with them: sums, products and conversions of
// numbers in these ranges do not overflow.

extension SegmentInfo {
  /// The numbers of segments.
  static let numbers = 0...999_999_999_999
  /// The positions and counts of samples that fit into a WAV file.
  static let counts = 0...WAVHeader.longestData
  /// The capture times in Unix milliseconds: the years 1 to 9999.
  private static let times: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999
  /// The durations of pauses and gaps in seconds: up to a century.
  fileprivate static let durations = 0...3_155_760_000.0
  /// The offsets from UTC in seconds; POSIX has zones of up to a week.
  private static let offsets = -604_800...604_800
  /// The levels in dBFS.
  private static let levels = -120...0.0
  /// The accuracy of the duration in seconds; it is written with all its digits.
  private static let accuracy = 0.001

  /// A Boolean value that indicates whether the numbers, read from a file, describe a possible segment.
  var isSound: Bool {
    guard version == 1, sampleRate == codec.sampleRate, Self.numbers ~= id, Self.times ~= capture.unixMs,
      Self.offsets ~= capture.utcOffset, Self.levels ~= measured.peak, Self.levels ~= measured.rms,
      0...WAVHeader.longestData / 2 ~= samples, 0...samples ~= missingSamples,
      abs(duration - Double(samples) / Double(sampleRate)) <= Self.accuracy
    else { return false }
    return gaps.allSatisfy { $0.isSound && $0.end <= samples }
      && speech.allSatisfy { $0.isSound && $0.start + $0.samples <= samples }
      && previous?.isSound != false && backfill?.isSound != false
  }
}

extension SegmentInfo.Speech {
  /// A Boolean value that indicates whether the numbers, read from a file, describe a possible range.
  var isSound: Bool { SegmentInfo.counts ~= start && SegmentInfo.counts ~= samples }
}

extension SegmentInfo.Previous {
  fileprivate var isSound: Bool { SegmentInfo.numbers ~= id && SegmentInfo.durations ~= pause }
}

extension SegmentInfo.Backfill {
  fileprivate var isSound: Bool {
    fills.allSatisfy {
      SegmentInfo.numbers ~= $0.segment && SegmentInfo.counts ~= $0.start ?? 0 && SegmentInfo.durations ~= $0.duration
    }
  }
}

extension SegmentCarry {
  /// A Boolean value that indicates whether the numbers, read from a file, are possible.
  var isSound: Bool {
    let numbers = 1...WAVHeader.longestData
    return numbers ~= position && numbers ~= samples
  }
}

extension AudioGap {
  /// A Boolean value that indicates whether the numbers, read from a file, describe a possible gap.
  var isSound: Bool {
    // The samples of a late gap are written when the segment is finished.
    let isBounded = isLate != true || samples <= StreamRecorder.longestFill.samples(at: 16_000)
    return SegmentInfo.counts ~= start && SegmentInfo.counts ~= samples && 0...samples ~= concealed && isBounded
  }
}
