internal import Timing

/// A clock on which delays pass a hundred times as fast.
///
/// ```swift
/// let clock = FastClock()
/// try await Task.sleep(for: .seconds(1), clock: clock)  // 10 ms
/// ```
public struct FastClock: Clock {
  /// The type of the clock's instants.
  public typealias Instant = ContinuousClock.Instant
  private let origin = ContinuousClock.now

  /// Creates a clock that starts at the present instant.
  public init() {}

  /// The present instant of the clock.
  public var now: Instant { origin + origin.duration(to: .now) * 100 }
  /// The resolution of the clock: 1 ns.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Waits until an instant of the clock.
  /// - Throws: `CancellationError` if the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await Task.sleep(for: max(now.duration(to: deadline) / 100, Duration.zero), clock: .steady)
  }
}
