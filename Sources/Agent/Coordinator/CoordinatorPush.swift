/// A request that a coordinator puts into its response to a heartbeat, in the field `push`.
///
/// The response arrives over the connection that this machine has opened and checked, so that a push needs no open port
/// and no signature of its own. Unknown names are ignored.
public enum CoordinatorPush: String, Sendable, Hashable, CaseIterable {
  /// Request a task now, instead of after the usual interval.
  case tasks
  /// Look at the upload queue now, and try again what waits.
  case uploads
}
