package import Streams

extension WakeSignal {
  /// Raises the signal at an interval, and earlier together with something else of this process, until the task is
  /// cancelled; see ``SteadyClock/rest(atMost:)``.
  package func signal(every interval: Duration) async {
    do {
      while true {
        try await SteadyClock().rest(atMost: interval)
        signal()
      }
    } catch {
      // Cancelled: the loop behind the signal has ended.
    }
  }
}
