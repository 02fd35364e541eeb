/// Counts why work was not taken, for status and metrics.
public struct DropReasons: Sendable, Hashable {
  /// How many reasons are told apart; what comes beyond is counted as `other`. A coordinator names reasons of its own.
  public static let limit = 48

  /// How often work was held, by reason, as an ``AssignmentReason`` or somebody else writes it; a reason that never
  /// held any is not there.
  public private(set) var counts: [String: Int] = [:]

  /// Makes an empty count.
  public init() {}

  /// Asks a decision about a piece of work, and counts it when it is held.
  /// - Returns: why it is held; `nil` when it is to be taken.
  public mutating func check(
    _ work: AssignmentDecision.Work, _ decision: AssignmentDecision
  ) -> AssignmentDecision.Hold? {
    let hold = decision.hold(work)
    if let hold { count(hold.reason.rawValue) }
    return hold
  }

  /// Counts work that was held for a reason of another kind.
  public mutating func count(_ reason: String) {
    counts[counts[reason] == nil && counts.count >= Self.limit ? "other" : reason, default: 0] += 1
  }

  /// How often work was held, for whatever reason.
  public var total: Int { counts.values.reduce(0, +) }
}
