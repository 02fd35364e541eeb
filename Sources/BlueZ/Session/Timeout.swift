import Timing

/// Runs something with a limit; the error names the phase that ran out.
/// - Throws: ``BlueZError`` with code `.timedOut`, or what `body` throws.
func withTimeout<R: Sendable>(
  _ limit: Duration, _ phase: String, hint: String? = nil, _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  try await withThrowingTaskGroup(of: R?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit, clock: .steady)
      return nil
    }
    defer { group.cancelAll() }
    guard let first = try await group.next(), let result = first else {
      throw BlueZError(.timedOut, "\(phase): nothing for \(limit)", hint: hint)
    }
    return result
  }
}
