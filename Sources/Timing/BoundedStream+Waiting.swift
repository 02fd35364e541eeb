package import Streams

extension BoundedStream {
  /// Waits until an element arrives and takes it; returns also after the timeout and when the stream or the task ends.
  package func waitForFirst(within limit: Duration) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in self { return } }
      // Cancelled when the element was quicker.
      group.addTask { try? await Task.sleep(for: limit, clock: .steady) }
      await group.next()
      group.cancelAll()
    }
  }
}
