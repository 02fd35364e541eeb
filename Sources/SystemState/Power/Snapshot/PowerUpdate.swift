/// A snapshot of the power state and its differences from the snapshot before.
public struct PowerUpdate: Sendable, Hashable {
  /// The number of the update, counted from 1 by each monitor; a gap means that a slow reader lost the updates between.
  public var number: Int
  /// The complete power state after the changes.
  public var snapshot: PowerSnapshot
  /// The changes since update `number - 1`; empty in the first update.
  public var changes: [PowerChange]

  /// Creates an update from its parts, for tests.
  public init(number: Int, snapshot: PowerSnapshot, changes: [PowerChange] = []) {
    self.number = number
    self.snapshot = snapshot
    self.changes = changes
  }
}
