/// A counter of the reasons why work was not accepted, for status and metrics.
public struct DropReasons: Sendable, Hashable {
  /// The number of reasons that are counted separately: 48. Further reasons, which a coordinator may invent, are counted
  /// as `other`.
  public static let limit = 48

  /// The number of times that work was held, by the raw value of an ``AssignmentReason`` or by another reason.
  public private(set) var counts: [String: Int] = [:]

  /// Creates a counter without any reasons.
  public init() {}

  /// Counts the work if a decision holds it.
  /// - Returns: The reason why the work has to wait, or `nil` if it is accepted.
  public mutating func check(
    _ work: AssignmentDecision.Work, _ decision: AssignmentDecision
  ) -> AssignmentDecision.Hold? {
    let hold = decision.hold(work)
    if let hold { count(hold.reason.rawValue) }
    return hold
  }

  /// Counts work that was held for another reason.
  public mutating func count(_ reason: String) {
    counts[counts[reason] == nil && counts.count >= Self.limit ? "other" : reason, default: 0] += 1
  }

  /// The number of times that work was held, for any reason.
  public var total: Int { counts.values.reduce(0, +) }
}
