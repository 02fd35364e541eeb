/// What a probe found.
public enum Reachability: String, Sendable, Hashable, CaseIterable {
  /// The answer that was expected.
  case reachable
  /// An answer of somebody else, such as the portal of a hotel.
  case portal
  /// No answer in time, or none at all.
  case unreachable
}

/// Asks something out there whether it can be reached.
///
/// This library only decides when to ask, because HTTP, names and TLS are the business of an HTTP client; the program
/// that has one fills this in with a request of its choice.
public protocol ReachabilityProbe: Sendable {
  /// Asks once. The caller bounds the time by cancelling the task.
  /// - Returns: what was found.
  /// - Throws: whatever kept it from asking; it counts as ``Reachability/unreachable``.
  func probe() async throws -> Reachability
}
