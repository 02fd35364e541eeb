/// A monotonic clock, injected wherever something waits or measures.
///
/// Instants are durations since an origin that only this source knows; state machines compare and add them and need no
/// clock of their own. In production it is the clock of `ContinuousClock`, which on Linux also counts the time a machine
/// sleeps; tests pass a clock they move by hand.
public struct TimeSource: Sendable {
  private let read: @Sendable () -> Duration
  private let wait: @Sendable (Duration) async throws -> Void

  /// Wraps a clock; its present instant becomes the origin.
  public init<C: Clock>(_ clock: C) where C.Duration == Duration {
    let origin = clock.now
    read = { origin.duration(to: clock.now) }
    wait = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: .zero) }
  }

  /// The system's monotonic clock.
  public static let continuous = TimeSource(.steady)

  /// The present instant.
  public var now: Duration { read() }

  /// Waits until an instant; returns at once when it has passed.
  /// - Throws: `CancellationError`.
  public func sleep(until instant: Duration) async throws { try await wait(instant) }

  /// Waits for a while.
  /// - Throws: `CancellationError`.
  public func sleep(for duration: Duration) async throws { try await wait(now + duration) }

  /// Runs an operation for at most `limit`.
  ///
  /// The operation is cancelled at the limit and must honour that; the call returns when it has.
  /// - Parameters:
  ///   - limit: the longest time the operation may take.
  ///   - error: what to throw when the time has run out; it names the phase.
  package func withLimit<Value: Sendable>(
    _ limit: Duration, orThrow error: @autoclosure @Sendable @escaping () -> any Error,
    _ operation: @Sendable @escaping () async throws -> Value
  ) async throws -> Value {
    try await withLimits(ProgressLimits(first: limit, pause: limit, total: limit), orThrow: error) { _ in
      try await operation()
    }
  }

  /// The same for an operation that gets on in steps.
  /// - Parameters:
  ///   - limits: how long it may take, and stand still.
  ///   - error: what to throw when a limit is reached; it names the phase.
  ///   - operation: calls `step` whenever it has got on.
  package func withLimits<Value: Sendable>(
    _ limits: ProgressLimits, orThrow error: @Sendable @escaping () -> any Error,
    _ operation: @Sendable @escaping (_ step: @Sendable @escaping () -> Void) async throws -> Value
  ) async throws -> Value {
    let end = now + limits.total
    let deadline = Lock(now + limits.first)
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask {
        try await operation { deadline.withLock { $0 = min(self.now + limits.pause, end) } }
      }
      group.addTask {
        while case let due = deadline.withLock({ $0 }), due > self.now {
          // A step brings the deadline nearer where the first one has the longest time.
          try await self.sleep(until: min(due, self.now + limits.pause))
        }
        return nil
      }
      defer { group.cancelAll() }
      guard let first = try await group.next(), let value = first else { throw error() }
      return value
    }
  }
}

/// How long something that gets on in steps may take.
package struct ProgressLimits: Sendable {
  /// To the first step.
  package var first: Duration
  /// From one step to the next.
  package var pause: Duration
  /// From the beginning to the end.
  package var total: Duration

  /// Makes limits; the whole never has less time than the first step.
  package init(first: Duration, pause: Duration, total: Duration) {
    self.first = first
    self.pause = pause
    self.total = max(first, total)
  }
}
