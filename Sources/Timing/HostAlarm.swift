internal import CLinux
import Glibc
internal import Streams

/// An alarm that wakes the host from sleep at an instant, where the kernel lets this process set one.
///
/// It does nothing else: a sleep of ``SteadyClock`` ends by itself on a host that is awake. The kernel asks for
/// CAP_WAKE_ALARM and a clock that can wake the host.
package final class HostAlarm: Sendable {
  private let timer: FileDescriptor?
  /// Of a cleared alarm the kernel goes on to report the time that was left.
  private let isSet = Lock(false)

  /// Creates an alarm that is not set.
  package init() {
    let number = timerfd_create(CLOCK_BOOTTIME_ALARM, Int32(TFD_CLOEXEC))
    timer = number >= 0 ? FileDescriptor(owning: number) : nil
  }

  /// A Boolean value that indicates whether the host can be woken.
  package var isAllowed: Bool { timer != nil }

  /// Sets the alarm to a time from now, 1 ms or more, which replaces an earlier one; `nil` clears it.
  package func set(_ delay: Duration?) {
    var time = itimerspec()
    if let delay {
      let wait = max(delay, .milliseconds(1)).wholeNanoseconds
      time.it_value.tv_sec = Int(wait / 1_000_000_000)
      time.it_value.tv_nsec = Int(wait % 1_000_000_000)
    }
    isSet.withLock { isSet in
      isSet = delay != nil
      timer?.withNumber { _ = timerfd_settime($0, 0, &time, nil) }
    }
  }

  /// The time until the alarm; `nil` if it is not set, has passed or cannot be set.
  package var left: Duration? {
    guard isSet.withLock({ $0 }) else { return nil }
    var time = itimerspec()
    guard let result = timer?.withNumber({ timerfd_gettime($0, &time) }), result == 0 else { return nil }
    let left = Duration.seconds(time.it_value.tv_sec) + .nanoseconds(time.it_value.tv_nsec)
    return left > .zero ? left : nil
  }
}
