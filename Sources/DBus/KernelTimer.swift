internal import CDBus
import Glibc

/// A timer to poll for, for who has descriptors to wait for as well.
package final class KernelTimer: Sendable {
  /// What to poll for reading.
  package let descriptor: Int32

  package init() throws(DBusError) {
    descriptor = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC))
    guard descriptor >= 0 else {
      throw DBusError(.limitExceeded, "timerfd: \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    close(descriptor)
  }

  /// Makes the descriptor readable in so many nanoseconds, 1 to 999 999 999, and not before.
  package func start(_ nanoseconds: Int) { set(nanoseconds) }

  /// Makes it unreadable, and stops it.
  package func stop() { set(0) }

  private func set(_ nanoseconds: Int) {
    var time = itimerspec()
    time.it_value.tv_nsec = nanoseconds
    timerfd_settime(descriptor, 0, &time, nil)
  }
}
