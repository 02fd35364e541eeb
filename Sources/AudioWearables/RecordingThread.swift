import Glibc
package import Streams

/// A thread for the tasks of a recorder: they write files, and a slow disk must not block the shared thread pool.
package final class RecordingThread: Sendable {
  private let wake: WakeUp
  private let hasEnded = Lock(false)
  package let executor: ThreadExecutor

  /// Starts the thread, which ends with the last reference to this object.
  /// - Throws: `SystemCallError` if no descriptor or thread is available.
  package init() throws(SystemCallError) {
    let wake = try WakeUp()
    self.wake = wake
    executor = ThreadExecutor(wake: { wake.signal() })
    try startThread(named: "recording") { [executor, hasEnded] in
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
