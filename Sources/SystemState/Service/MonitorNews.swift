internal import Streams

/// Whether what a monitor reads may have changed since it was last read, with the signal that has it read.
final class MonitorNews: Sendable {
  /// Raised when something may have changed, and at the monitor's interval.
  let wake = WakeSignal()
  private let hasNews = Lock(true)

  /// Has everything read anew.
  func report() {
    hasNews.withLock { $0 = true }
    wake.signal()
  }

  /// - Returns: `true` if something may have changed since the last call.
  func take() -> Bool {
    hasNews.withLock { news in
      defer { news = false }
      return news
    }
  }
}
