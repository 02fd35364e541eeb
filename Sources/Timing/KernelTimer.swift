internal import CLinux
import Glibc
package import Streams

/// A timer descriptor for a thread that also waits for other descriptors in `poll`.
package final class KernelTimer: Sendable {
  /// The descriptor to poll for reading.
  package let descriptor: Int32

  /// Opens a timer that is stopped.
  /// - Throws: `SystemCallError` when the process has no descriptor left.
  package init() throws(SystemCallError) {
    descriptor = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC))
    guard descriptor >= 0 else { throw SystemCallError("timerfd_create") }
  }

  deinit {
    close(descriptor)
  }

  /// Makes the descriptor readable after a time, and not before.
  /// - Parameter nanoseconds: The time, 1 to 999,999,999.
  package func start(_ nanoseconds: Int) { set(nanoseconds) }

  /// Stops the timer and makes the descriptor unreadable.
  package func stop() { set(0) }

  private func set(_ nanoseconds: Int) {
    var time = itimerspec()
    time.it_value.tv_nsec = nanoseconds
    timerfd_settime(descriptor, 0, &time, nil)
  }
}
