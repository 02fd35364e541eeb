internal import Timing

/// A stretch of a walk: a circle around the place where it was entered, with the pings that were measured within.
public struct Fence: Sendable, Hashable {
  /// The number of the fence within its run, from 1 on.
  public var number: Int
  /// The location at which the fence was entered, which is its centre.
  public var place: CoverageLocation
  /// The radius in metres, 15 or more; it never changes.
  public var radius: Double
  /// The instant at which the fence was entered, from the start of the run on.
  public var entered: Duration
  /// The instant at which the fence was left; `nil` while it is active, and after a crash.
  public var exited: Duration?
  /// The technology that was recorded last.
  public var technology: CoverageTechnology
  /// The pings that belong to the fence.
  public var pings = Pings()
  /// A Boolean value that indicates whether Wi-Fi was used within the fence, which is then neither stored nor sent.
  public var isDirty = false

  /// The counts of pings, and the sum of their times.
  public struct Pings: Sendable, Hashable {
    /// The number of pings with a reply.
    public var answered = 0
    /// The number of pings without a reply.
    public var lost = 0
    /// The sum of the times of the pings with a reply, in milliseconds.
    public var sum = 0.0

    /// Creates counts of no pings.
    public init() {}

    /// The mean time of the pings with a reply in milliseconds; `nil` without one.
    public var mean: Double? { answered > 0 ? sum / Double(answered) : nil }

    /// Adds a completed ping to the counts.
    public mutating func add(_ ping: PingResult) {
      if let milliseconds = ping.milliseconds {
        answered += 1
        sum += milliseconds
      } else {
        lost += 1
      }
    }
  }

  /// Creates a fence that was just entered.
  public init(number: Int, place: CoverageLocation, radius: Double, entered: Duration, technology: CoverageTechnology) {
    self.number = number
    self.place = place
    self.radius = radius
    self.entered = entered
    self.technology = technology
  }

  /// The coverage of a place, as a map shows it.
  public enum Coverage: Sendable, Hashable {
    /// No ping was completed yet.
    case pending(CoverageTechnology)
    /// The network has answered some pings.
    case covered(CoverageTechnology)
    /// There is no network, or none of the pings had a reply.
    case none
  }

  /// The coverage of the place.
  public var coverage: Coverage {
    if technology == .none || (pings.lost > 0 && pings.answered == 0) { return .none }
    return pings.answered == 0 ? .pending(technology) : .covered(technology)
  }

  /// The colour on a map, as six hexadecimal digits: that of the technology, or grey without coverage.
  public var color: String { coverage == .none ? CoverageTechnology.none.color : technology.color }

  /// Returns `true` if an instant lies within the fence, its ends excluded.
  func contains(_ instant: Duration) -> Bool { entered < instant && exited.map { instant < $0 } ?? true }
}
