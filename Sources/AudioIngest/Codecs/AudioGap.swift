/// A range of a recording's samples that stand for audio that is missing.
///
/// ```swift
/// let gap = AudioGap(start: 16_000, samples: 4800, concealed: 1600, reason: .lost)
/// print("\(gap.samples - gap.concealed) samples of silence end at \(gap.end)")
/// ```
public struct AudioGap: Sendable, Hashable, Codable {
  /// The reason why audio is missing.
  public enum Reason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The packet numbers show that frames did not arrive.
    case lost
    /// A frame arrived and could not be decoded.
    case damaged
    /// More time passed than the device sent audio for: it dropped frames itself, or restarted.
    case unsent
    /// The device was not connected.
    case linkLoss
    /// The disk or the quota was full.
    case noSpace
  }

  /// The position of the first sample, from the start of the recording.
  public var start: Int
  /// The number of samples in the gap.
  public var samples: Int
  /// The number of samples, at the start of the gap, that are synthesized from the audio before; the rest is silence.
  public var concealed: Int
  /// The reason why the audio is missing.
  public var reason: Reason
  /// A Boolean value that indicates whether samples behind the gap were already written when it was found. They move when
  /// the segment is finished; `nil` in a finished segment.
  var isLate: Bool?

  /// Creates a gap from its range and reason.
  public init(start: Int, samples: Int, concealed: Int = 0, reason: Reason) {
    self.start = start
    self.samples = samples
    self.concealed = concealed
    self.reason = reason
  }

  /// The position of the first sample behind the gap.
  public var end: Int { start + samples }

  /// Returns the part of the gap within a range, relative to the start of the range; `nil` if they do not overlap.
  func clipped(to range: Range<Int>) -> AudioGap? {
    let part = range.clamped(to: start..<end)
    guard !part.isEmpty else { return nil }
    let madeUp = part.clamped(to: start..<(start + concealed)).count
    return AudioGap(start: part.lowerBound - range.lowerBound, samples: part.count, concealed: madeUp, reason: reason)
  }
}
