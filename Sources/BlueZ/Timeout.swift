import Timing

/// Runs an operation with a timeout.
/// - Parameter phase: The operation, for the error's message.
/// - Throws: ``BlueZError`` with code `.timedOut` that names the phase, or what `body` throws.
func withTimeout<R: Sendable>(
  _ limit: Duration, _ phase: String, hint: String? = nil, _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  try await TimeSource.continuous.withLimit(
    limit, orThrow: BlueZError(.timedOut, "\(phase): timed out after \(limit)", hint: hint), body)
}
