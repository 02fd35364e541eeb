import Glibc

/// A mutual-exclusion lock around the state it protects.
///
/// `pthread_mutex_t` rather than `Synchronization.Mutex`: the thread sanitizer knows the former on Linux and reports
/// false races with the latter.
package final class Lock<State>: @unchecked Sendable {
  // Sound: `state` is touched only between lock and unlock.
  private var state: State
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  package init(_ state: sending State) {
    self.state = state
    mutex = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @inline(__always)
  package func withLock<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state)
  }
}
