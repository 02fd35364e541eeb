/// A snapshot, and why it differs from the one before.
public struct PathUpdate: Sendable, Hashable {
  /// Counts the monitor's updates from 1; a gap means that the reader was too slow for those between.
  public var number: Int
  /// The whole path.
  public var path: PathSnapshot
  /// What changed since update `number - 1`, the cause before its consequence; empty in the first.
  public var changes: [PathChange]

  /// Makes an update, for tests of what uses one.
  public init(number: Int, path: PathSnapshot, changes: [PathChange] = []) {
    self.number = number
    self.path = path
    self.changes = changes
  }
}
