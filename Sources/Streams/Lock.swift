public import Glibc

/// A mutual-exclusion lock around the state it protects. Copies share one lock and one state.
///
/// ```swift
/// let count = Lock(0)
/// count.withLock { $0 += 1 }
/// ```
///
/// It is a `pthread_mutex_t` rather than a `Synchronization.Mutex` because the thread sanitizer knows the former on
/// Linux and reports false races with the latter. A lock is held for as long as a closure runs and never across an
/// `await`; the closure must not take the same lock again.
public struct Lock<State>: @unchecked Sendable {
  // Sound: the state is touched only between lock and unlock.

  /// The state and the mutex in one allocation: a call over the bus creates several locks.
  private final class Storage: ManagedBuffer<State, pthread_mutex_t> {
    deinit {
      _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) }
    }
  }

  @usableFromInline let storage: ManagedBuffer<State, pthread_mutex_t>

  /// Creates a lock around a value.
  public init(_ state: sending State) {
    storage = Storage.create(minimumCapacity: 1) { buffer in
      _ = buffer.withUnsafeMutablePointerToElements { pthread_mutex_init($0, nil) }
      return state
    }
  }

  /// Calls a closure with exclusive access to the state.
  /// - Returns: The closure's result.
  /// - Throws: The error that the closure throws.
  @inlinable
  public func withLock<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
    try storage.withUnsafeMutablePointers { (state, mutex) throws(E) -> R in
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&state.pointee)
    }
  }
}
