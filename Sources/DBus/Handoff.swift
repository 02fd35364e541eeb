internal import Streams

/// A result that one thread delivers to the one task that waits for it.
///
/// A bare continuation would do, but for the thread sanitizer: when the result comes before the task has suspended,
/// only the Swift runtime orders the two, and the sanitizer cannot see inside it. So the task reads the result under
/// the lock it was stored under.
final class Handoff<Success: Sendable>: Sendable {
  private struct State {
    var continuation: UnsafeContinuation<Void, Never>?
    var result: Result<Success, any Error>?
  }

  private let state = Lock(State())

  init() {}

  /// Stores the result and wakes the task; only the first result counts.
  func finish(_ result: Result<Success, any Error>) {
    let continuation = state.withLock { state -> UnsafeContinuation<Void, Never>? in
      guard state.result == nil else { return nil }
      state.result = result
      defer { state.continuation = nil }
      return state.continuation
    }
    continuation?.resume()
  }

  /// Waits for the result, which may already be there. One task, once.
  func wait() async throws -> Success {
    await withUnsafeContinuation { continuation in
      let isThere = state.withLock { state in
        if state.result == nil { state.continuation = continuation }
        return state.result != nil
      }
      if isThere { continuation.resume() }
    }
    guard let result = state.withLock({ $0.result }) else {
      preconditionFailure("a hand-off resumed its task without a result")
    }
    return try result.get()
  }
}
