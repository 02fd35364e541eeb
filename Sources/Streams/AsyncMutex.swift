/// A mutex for asynchronous operations: one runs at a time, in the order of their calls.
///
/// ```swift
/// let mutex = AsyncMutex()
/// let sum = try await mutex.withLock { 1 + 1 }
/// ```
package actor AsyncMutex {
  private struct Waiter {
    let ticket: Int
    let continuation: CheckedContinuation<Void, any Error>
  }

  private var isLocked = false
  private var waiters: [Waiter] = []
  private var nextTicket = 0

  /// Creates a mutex that is unlocked.
  package init() {}

  /// The number of operations that run or wait.
  package var count: Int { (isLocked ? 1 : 0) + waiters.count }

  /// Runs an operation when all earlier ones have finished.
  /// - Throws: The error that the operation throws; `CancellationError` when the task is cancelled while it waits.
  package func withLock<Value: Sendable>(_ operation: @Sendable () async throws -> Value) async throws -> Value {
    try await lock()
    defer { unlock() }
    return try await operation()
  }

  private func lock() async throws {
    try Task.checkCancellation()
    guard isLocked else {
      isLocked = true
      return
    }
    let ticket = nextTicket
    nextTicket += 1
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiters.append(Waiter(ticket: ticket, continuation: $0)) }
    } onCancel: {
      Task { await self.cancel(ticket) }
    }
  }

  private func unlock() {
    guard !waiters.isEmpty else {
      isLocked = false
      return
    }
    waiters.removeFirst().continuation.resume()
  }

  private func cancel(_ ticket: Int) {
    guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else { return }
    waiters.remove(at: index).continuation.resume(throwing: CancellationError())
  }
}
