internal import Timing

/// Does something again and again, until the task is cancelled.
func every(_ interval: Duration, _ action: @escaping @Sendable () -> Void) -> Task<Void, Never> {
  Task {
    do {
      while true {
        try await Task.sleep(for: interval, clock: .steady)
        action()
      }
    } catch {
      // Cancelled: whoever wanted it is closed.
    }
  }
}
