/// A stretch of a recording that nobody heard.
public struct AudioGap: Sendable, Hashable, Codable {
  /// Why it is missing.
  public enum Reason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The numbers of the packets show that frames never came.
    case lost
    /// A frame came and could not be decoded.
    case damaged
    /// By the clock more time went by than the device sent: it dropped frames itself, or began anew.
    case unsent
    /// There was no link.
    case linkLoss
    /// There was no room to keep it.
    case noSpace
  }

  /// Its first sample, from the beginning of the recording.
  public var start: Int
  /// How many samples it has.
  public var samples: Int
  /// How many of them, at its beginning, the decoder made up from what was heard before; the rest is silence.
  public var concealed: Int
  /// Why it is there.
  public var reason: Reason
  /// Whether it was noticed when samples behind it were written already: they move when the segment is finished. Never
  /// so in a finished one.
  var isLate: Bool?

  /// Describes a gap.
  public init(start: Int, samples: Int, concealed: Int = 0, reason: Reason) {
    self.start = start
    self.samples = samples
    self.concealed = concealed
    self.reason = reason
  }

  /// The first sample behind it.
  public var end: Int { start + samples }

  /// The part of it that lies in a range, as seen from the range's beginning.
  func clipped(to range: Range<Int>) -> AudioGap? {
    let part = range.clamped(to: start..<end)
    guard !part.isEmpty else { return nil }
    let madeUp = part.clamped(to: start..<(start + concealed)).count
    return AudioGap(start: part.lowerBound - range.lowerBound, samples: part.count, concealed: madeUp, reason: reason)
  }
}
