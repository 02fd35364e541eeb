internal import DBus

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

extension UpdateFeed {
  /// Waits until there is something to tell, for no longer than a limit.
  func waitForFirst(within limit: Duration) async {
    let updates = updates(limit: 1)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in updates { return } }
      // Cancelled when the update was quicker.
      group.addTask { try? await Task.sleep(for: limit, clock: .steady) }
      await group.next()
      group.cancelAll()
    }
  }
}
