package import Streams

extension WakeSignal {
  /// Raises the signal at an interval until the task is cancelled.
  package func signal(every interval: Duration) async {
    do {
      while true {
        try await Task.sleep(for: interval, clock: .steady)
        signal()
      }
    } catch {
      // Cancelled: the loop behind the signal has ended.
    }
  }
}
