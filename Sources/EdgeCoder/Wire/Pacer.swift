/// Says when the next chunk may go out: a pause between chunks, and nothing after the last.
///
/// A phone has no other flow control: neither the notify socket of BlueZ nor `PropertiesChanged` ever pushes back, and
/// several bearers (EATT) reorder a burst. The pause keeps chunks in order and the queue below short, as long as both
/// hosts keep up with it: EATT gives each bearer credit for about one chunk, and when a host is too busy to renew it, the
/// next chunk overtakes on another bearer. `Channels = 1` in bluetoothd's `main.conf` is the cure for that.
///
/// Two whole messages of one chunk each need no pause between them, since their order does not matter; so a phone that
/// answers short prompts is not held up. Any other neighbours are kept apart, also across messages.
///
/// The pause is kept *on average*: after a timer that fired late the next chunk is due a little sooner, but never
/// sooner than half the interval. A value type: the caller supplies the instants of one monotonic clock.
public struct Pacer: Sendable {
  /// The pause; zero sends without any.
  public var interval: Duration

  private var due: Duration?
  private var sent = Duration.zero
  private var lastWasWhole = true

  /// Makes a pacer.
  /// - Parameter interval: the pause between chunks, 10 ms in the protocol; negative counts as zero.
  public init(interval: Duration = .milliseconds(10)) {
    self.interval = max(.zero, interval)
  }

  /// The earliest instant for the next chunk.
  /// - Parameters:
  ///   - whole: whether the chunk is a whole message.
  ///   - now: the present instant; returned when nothing holds the chunk back.
  public func earliest(whole: Bool, at now: Duration) -> Duration {
    guard let due, !(whole && lastWasWhole) else { return now }
    return max(now, due + interval, sent + interval / 2)
  }

  /// Notes that a chunk went out.
  /// - Parameters:
  ///   - whole: whether the chunk is a whole message.
  ///   - now: the instant at which it was handed over.
  public mutating func didSend(whole: Bool, at now: Duration) {
    if let previous = due, !(whole && lastWasWhole) {
      // Lateness of up to one interval is made up for; more would be a burst.
      let scheduled = previous + interval
      due = now - scheduled > interval ? now : scheduled
    } else {
      due = now
    }
    sent = now
    lastWasWhole = whole
  }
}
