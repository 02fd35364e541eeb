import Glibc

/// A thread of its own for tasks that block or compute for long, and would hold a thread of the shared pool.
package final class ExecutorThread: Sendable {
  private let wake: WakeUp
  private let hasEnded = Lock(false)
  package let executor: ThreadExecutor

  /// Starts the thread, which ends with the last reference to this object.
  /// - Parameter name: The thread's name in `ps` and debuggers, at most 15 bytes.
  /// - Throws: ``SystemCallError`` if no descriptor or thread is available.
  package init(named name: String) throws(SystemCallError) {
    let wake = try WakeUp()
    self.wake = wake
    executor = ThreadExecutor(wake: { wake.signal() })
    try startThread(named: name) { [executor, hasEnded] in
      var item = pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)
      while !hasEnded.withLock({ $0 }) {
        // An interrupted wait only looks for jobs once more.
        _ = poll(&item, 1, -1)
        wake.clear()
        while executor.hasJobs { executor.runJobs() }
      }
      executor.end()
    }
  }

  deinit {
    hasEnded.withLock { $0 = true }
    wake.signal()
  }
}
