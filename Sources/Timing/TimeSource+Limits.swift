internal import Streams

/// The timeouts of an operation that makes progress in steps.
package struct ProgressLimits: Sendable {
  /// The longest time to the first step.
  package var first: Duration
  /// The longest time from one step to the next.
  package var pause: Duration
  /// The longest time from the beginning to the end.
  package var total: Duration

  /// Creates limits; `total` is raised to `first` if it is shorter.
  package init(first: Duration, pause: Duration, total: Duration) {
    self.first = first
    self.pause = pause
    self.total = max(first, total)
  }
}

extension TimeSource {
  /// Runs an operation with a timeout.
  ///
  /// The operation is cancelled at the timeout and must honour that; the call returns when it has.
  /// - Parameters:
  ///   - limit: The longest time the operation may take.
  ///   - error: The error to throw after the timeout; it names the phase.
  /// - Returns: The operation's result.
  package func withLimit<Value: Sendable>(
    _ limit: Duration, orThrow error: @autoclosure @Sendable @escaping () -> any Error,
    _ operation: @Sendable @escaping () async throws -> Value
  ) async throws -> Value {
    try await withLimits(ProgressLimits(first: limit, pause: limit, total: limit), orThrow: error) { _ in
      try await operation()
    }
  }

  /// Runs an operation that makes progress in steps, with a timeout for each step and for the whole.
  /// - Parameters:
  ///   - limits: The timeouts.
  ///   - error: The error to throw after a timeout; it names the phase.
  ///   - operation: The operation; it calls `step` whenever it has made progress.
  /// - Returns: The operation's result.
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
