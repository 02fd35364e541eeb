package import Streams

extension WakeSignal {
  /// Raises the signal at an interval, and up to half of it later together with something else of this process, until
  /// the task is cancelled.
  package func signal(every interval: Duration) async {
    do {
      while true {
        try await Task.sleep(for: interval, tolerance: interval / 2, clock: .steady)
        signal()
      }
    } catch {
      // Cancelled: the loop behind the signal has ended.
    }
  }
}
