/// A monotonic clock that is injected wherever something waits or measures time.
///
/// Instants are durations since an origin that only the source knows; state machines compare and add them and need no
/// clock of their own. ``continuous`` is the system's clock, which on Linux also counts the time a machine is suspended;
/// a test passes a clock that it moves by hand:
///
/// ```swift
/// let time = TimeSource.continuous
/// let start = time.now
/// try await time.sleep(for: .milliseconds(10))
/// print("slept for", time.now - start)
/// ```
public struct TimeSource: Sendable {
  private let read: @Sendable () -> Duration
  private let wait: @Sendable (_ instant: Duration, _ tolerance: Duration) async throws -> Void

  /// Creates a source from a clock, whose present instant becomes the origin.
  public init<C: Clock>(_ clock: C) where C.Duration == Duration {
    let origin = clock.now
    read = { origin.duration(to: clock.now) }
    wait = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: $1) }
  }

  /// The system's monotonic clock, suspended time included (`CLOCK_BOOTTIME`).
  public static let continuous = TimeSource(.steady)

  /// The present instant, as a duration since the source's origin.
  public var now: Duration { read() }

  /// Waits until an instant; returns at once when it has passed.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(until instant: Duration) async throws { try await wait(instant, .zero) }

  /// Waits for a duration; returns at once when it is zero or negative.
  /// - Parameters:
  ///   - duration: The least duration.
  ///   - tolerance: How much longer the wait may last, to end together with another one; see ``SteadyClock``.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(for duration: Duration, tolerance: Duration = .zero) async throws {
    try await wait(now + duration, tolerance)
  }
}
