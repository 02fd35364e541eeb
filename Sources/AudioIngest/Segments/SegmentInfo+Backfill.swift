extension SegmentInfo {
  /// The relation of a segment that a device had stored to the segments received live.
  public struct Backfill: Sendable, Hashable, Codable {
    /// The source of the capture time.
    public enum Clock: String, Sendable, Hashable, Codable {
      /// The device's clock, which the last connection set: accurate to about a second.
      case device
      /// An estimate from the amount of audio that the device had stored when it was connected again.
      case estimated
    }

    /// A gap or a pause that the segment fills.
    public struct Gap: Sendable, Hashable, Codable {
      /// The number of the segment that contains the gap or, without `start`, that follows the pause.
      public var segment: Int
      /// The position of the gap's first sample; `nil` for a pause.
      public var start: Int?
      /// The duration of the gap or the pause, in seconds.
      public var duration: Double
    }

    /// The source of the capture time.
    public var clock: Clock
    /// The gaps and pauses that the segment fills, among the segments of the same device that existed at that time.
    public var fills: [Gap]
  }
}

extension SegmentInfo.Backfill {
  /// The part of a pause that must lie within a segment, unless one of the two is shorter; a device's clock shows whole
  /// seconds.
  private static let leastMs: Int64 = 500

  /// Returns the gaps and pauses that a segment fills.
  /// - Parameter live: The segments of the same device that were received live, in order.
  static func gaps(filledBy info: SegmentInfo, in live: [SegmentInfo]) -> [Gap] {
    let range = info.capture.unixMs..<info.endMs
    func touches(_ start: Int64, _ end: Int64) -> Bool {
      let shared = min(end, range.upperBound) - max(start, range.lowerBound)
      return shared > 0 && shared >= min(leastMs, (end - start) / 2, Int64(range.count) / 2)
    }
    var gaps: [Gap] = []
    for (index, segment) in live.enumerated() {
      let start = segment.capture.unixMs
      if index > 0, case let end = live[index - 1].endMs, touches(end, start) {
        gaps.append(Gap(segment: segment.id, start: nil, duration: Double(start - end) / 1000))
      }
      for gap in segment.gaps {
        let gapStart = start + Int64(gap.start) * 1000 / Int64(segment.sampleRate)
        let length = Int64(gap.samples) * 1000 / Int64(segment.sampleRate)
        // A device stores no audio for a gap so short that it is concealed.
        guard length >= leastMs, touches(gapStart, gapStart + length) else { continue }
        gaps.append(Gap(segment: segment.id, start: gap.start, duration: Double(length) / 1000))
      }
    }
    return gaps
  }
}
