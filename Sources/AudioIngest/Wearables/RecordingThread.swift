import Glibc
internal import Streams

/// A thread for the tasks of a recorder: they write files, and a slow disk must not hold up everybody's tasks.
final class RecordingThread: Sendable {
  private let wake: WakeUp
  private let hasEnded = Lock(false)
  let executor: ThreadExecutor

  init() throws(SystemCallError) {
    let wake = try WakeUp()
    self.wake = wake
    executor = ThreadExecutor(wake: { wake.signal() })
    try startThread(named: "recording") { [executor, hasEnded] in
      var item = pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)
      while !hasEnded.withLock({ $0 }) {
        // An interrupted wait looks for jobs once more.
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
