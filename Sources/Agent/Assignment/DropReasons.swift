/// Counts why work was not taken, for status and metrics.
public struct DropReasons: Sendable, Hashable {
  /// How often work was held, by reason; a reason that never held any is not there.
  public private(set) var counts: [AssignmentReason: Int] = [:]

  /// Makes an empty count.
  public init() {}

  /// Asks a decision about a piece of work, and counts it when it is held.
  /// - Returns: why it is held; `nil` when it is to be taken.
  public mutating func check(
    _ work: AssignmentDecision.Work, _ decision: AssignmentDecision
  ) -> AssignmentDecision.Hold? {
    let hold = decision.hold(work)
    if let hold { counts[hold.reason, default: 0] += 1 }
    return hold
  }

  /// How often work was held, for whatever reason.
  public var total: Int { counts.values.reduce(0, +) }
}
