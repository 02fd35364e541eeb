/// The numbers of requests that a collector has answered since it started, for metrics.
///
/// ```swift
/// let counts = CollectorCounts()
/// print(counts.stored)  // 0
/// ```
public struct CollectorCounts: Sendable, Hashable {
  /// The number of messages that were stored.
  public var stored = 0
  /// The number of requests with a body that is no message, or of another path or method.
  public var refused = 0
  /// The number of requests above the rate limit.
  public var limited = 0
  /// The number of messages that could not be stored, for example because the disk is full.
  public var failed = 0

  /// Creates counts that are all zero.
  public init() {}
}
