/// A schedule that keeps an interval between the chunks of replies.
///
/// A phone has no other flow control: neither the notify socket of BlueZ nor `PropertiesChanged` blocks a sender, and the
/// bearers of EATT reorder a burst. The interval keeps chunks in order and the queues below short, as long as both hosts
/// keep up with it. EATT gives each bearer credit for about one chunk; when a host is too busy to renew the credit, the
/// next chunk overtakes on another bearer. `Channels = 1` in the `main.conf` of bluetoothd prevents that.
///
/// Two messages of one chunk each need no interval between them, because their order does not matter. Any other two
/// neighbours are kept apart, also across messages.
///
/// The interval holds *on average*: after a timer that fired late the next chunk is due sooner, but never sooner than
/// half the interval. The caller supplies the instants of one monotonic clock.
///
/// ```swift
/// var pacer = Pacer(interval: .milliseconds(10))
/// pacer.didSend(whole: false, at: .zero)
/// print(pacer.earliest(whole: false, at: .milliseconds(2)))  // 0.01 seconds
/// ```
public struct Pacer: Sendable {
  /// The interval between two chunks; zero disables pacing.
  public var interval: Duration

  private var due: Duration?
  private var sent = Duration.zero
  private var lastWasWhole = true

  /// Creates a pacer that has sent nothing yet.
  /// - Parameter interval: The interval between two chunks, 10 ms in the protocol; a negative one counts as zero.
  public init(interval: Duration = .milliseconds(10)) {
    self.interval = max(.zero, interval)
  }

  /// Returns the earliest instant at which the next chunk may be sent.
  /// - Parameters:
  ///   - whole: A Boolean value that indicates whether the chunk is a whole message.
  ///   - now: The present instant, which is the result if no interval applies.
  public func earliest(whole: Bool, at now: Duration) -> Duration {
    guard let due, !(whole && lastWasWhole) else { return now }
    return max(now, due + interval, sent + interval / 2)
  }

  /// Records that a chunk was sent.
  /// - Parameters:
  ///   - whole: A Boolean value that indicates whether the chunk is a whole message.
  ///   - now: The instant at which the chunk was sent.
  public mutating func didSend(whole: Bool, at now: Duration) {
    if let previous = due, !(whole && lastWasWhole) {
      // A delay of up to one interval is caught up; more would be a burst.
      let scheduled = previous + interval
      due = now - scheduled > interval ? now : scheduled
    } else {
      due = now
    }
    sent = now
    lastWasWhole = whole
  }
}
