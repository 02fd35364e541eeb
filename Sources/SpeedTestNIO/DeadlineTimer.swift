internal import NIOCore
internal import Timing

/// The timer of the next deadline of a connection, on the connection's event loop.
struct DeadlineTimer {
  private var armed: (deadline: Duration, task: Scheduled<Void>)?

  /// Arms the timer for a deadline, unless it is armed for that one already; `nil` disarms it.
  /// - Parameters:
  ///   - deadline: The instant of the deadline on the clock of `now`.
  ///   - now: The present instant.
  ///   - loop: The event loop, on which the caller is.
  ///   - onDeadline: A closure that runs just after the deadline.
  mutating func set(
    to deadline: Duration?, at now: Duration, on loop: any EventLoop, _ onDeadline: @escaping @Sendable () -> Void
  ) {
    // Each of the many reads of a transfer comes here, with the deadline of the transfer.
    guard deadline != armed?.deadline else { return }
    cancel()
    guard let deadline else { return }
    let delay = TimeAmount(max(.zero, deadline - now) + .milliseconds(1))
    armed = (deadline, loop.scheduleTask(in: delay, onDeadline))
  }

  /// Disarms the timer; also to be called when it has fired.
  mutating func cancel() {
    armed?.task.cancel()
    armed = nil
  }
}
