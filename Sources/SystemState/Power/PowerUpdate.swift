/// A snapshot, and why it differs from the one before.
public struct PowerUpdate: Sendable, Hashable {
  /// Counts the monitor's updates from 1; a gap means that the reader was too slow for those between.
  public var number: Int
  /// What the machine runs on.
  public var snapshot: PowerSnapshot
  /// What changed since update `number - 1`; empty in the first.
  public var changes: [PowerChange]

  /// Makes an update, for tests of what uses one.
  public init(number: Int, snapshot: PowerSnapshot, changes: [PowerChange] = []) {
    self.number = number
    self.snapshot = snapshot
    self.changes = changes
  }
}
