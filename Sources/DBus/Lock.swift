import Glibc

/// A mutual-exclusion lock around the state it protects. Copies share the one lock and its state.
///
/// `pthread_mutex_t` rather than `Synchronization.Mutex`: the thread sanitizer knows the former on Linux and reports
/// false races with the latter.
package struct Lock<State>: @unchecked Sendable {
  // Sound: the state is touched only between lock and unlock.

  /// State and mutex in one allocation; a call over the bus makes several locks.
  private final class Storage: ManagedBuffer<State, pthread_mutex_t> {
    deinit {
      _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) }
    }
  }

  private let storage: ManagedBuffer<State, pthread_mutex_t>

  package init(_ state: sending State) {
    storage = Storage.create(minimumCapacity: 1) { buffer in
      _ = buffer.withUnsafeMutablePointerToElements { pthread_mutex_init($0, nil) }
      return state
    }
  }

  @inline(__always)
  package func withLock<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
    try storage.withUnsafeMutablePointers { (state, mutex) throws(E) -> R in
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&state.pointee)
    }
  }
}
