/// A snapshot of the network path and its differences from the snapshot before.
public struct PathUpdate: Sendable, Hashable {
  /// The number of the update, counted from 1 by each monitor; a gap means that a slow reader lost the updates between.
  public var number: Int
  /// The complete path after the changes.
  public var path: PathSnapshot
  /// The changes since update `number - 1`, causes before consequences; empty in the first update.
  public var changes: [PathChange]

  /// Creates an update from its parts, for tests.
  public init(number: Int, path: PathSnapshot, changes: [PathChange] = []) {
    self.number = number
    self.path = path
    self.changes = changes
  }
}
