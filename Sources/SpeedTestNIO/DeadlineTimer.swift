internal import NIOCore
internal import Timing

/// The timer of the next deadline of a connection, on the connection's event loop.
struct DeadlineTimer {
  private var task: Scheduled<Void>?

  /// Replaces the timer by one of a deadline; `nil` for none.
  /// - Parameters:
  ///   - deadline: The instant of the deadline on the clock of `now`.
  ///   - now: The present instant.
  ///   - loop: The event loop, on which the caller is.
  ///   - onDeadline: A closure that runs just after the deadline.
  mutating func set(
    to deadline: Duration?, at now: Duration, on loop: any EventLoop, _ onDeadline: @escaping @Sendable () -> Void
  ) {
    cancel()
    guard let deadline else { return }
    task = loop.scheduleTask(in: TimeAmount(max(.zero, deadline - now) + .milliseconds(1)), onDeadline)
  }

  mutating func cancel() {
    task?.cancel()
    task = nil
  }
}
