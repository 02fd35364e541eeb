internal import DBus
internal import NIOConcurrencyHelpers

/// The moment by which a piece of work must have got on; every step moves it.
final class ProgressMark: Sendable {
  /// The time from one step to the next.
  let idle: Duration
  private let due: NIOLockedValueBox<ContinuousClock.Instant>

  init(first: Duration, idle: Duration) {
    self.idle = idle
    due = NIOLockedValueBox(.now + first)
  }

  /// When the work is late, unless it moves on before.
  var deadline: ContinuousClock.Instant { due.withLockedValue { $0 } }

  /// Records progress: the next step is due in ``idle``.
  func advance() {
    due.withLockedValue { $0 = .now + idle }
  }
}

/// Runs `operation` and cancels it when it is later than its own progress mark allows.
/// - Throws: what `operation` throws, or `late()`.
func withProgressLimit<Value: Sendable>(
  _ mark: ProgressMark, late: @escaping @Sendable () -> any Error,
  _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask(operation: operation)
    group.addTask {
      while true {
        let deadline = mark.deadline
        guard deadline > .now else { throw late() }
        // The first step may have the longest time, and then a deadline moves forward: look again in time for that.
        try await Task.sleep(until: min(deadline, .now + mark.idle), clock: .steady)
      }
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}
