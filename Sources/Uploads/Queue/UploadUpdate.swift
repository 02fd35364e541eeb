public import Streams

/// A change of an upload queue, delivered to those who follow the queue in its own process.
public enum UploadUpdate: Sendable, Hashable {
  /// An event that this process recorded: an item is uploaded, an attempt failed, a user paused the queue and so on.
  ///
  /// A repeated event has the same ID and a higher ``UploadEvent/times``.
  case event(UploadEvent)
  /// A change of the items without an event of its own: items were added, or another process changed the queue.
  ///
  /// The store has the present items and the events of the other process.
  case itemsChanged
}

extension UploadQueue {
  /// Returns a stream of the queue's updates from now on.
  ///
  /// Any number of streams may exist. A stream ends when its reader's task is cancelled or the store goes. While another
  /// process uploads the queue (``Status/isUploadedElsewhere``), the stream is silent about that process; poll the store,
  /// for example twice a second, as long as that lasts.
  ///
  /// ```swift
  /// func follow(_ queue: UploadQueue) async {
  ///   let updates = queue.updates()
  ///   for await update in updates {
  ///     if case .event(let event) = update, event.kind == .done { print("uploaded", event.object ?? "") }
  ///   }
  ///   if updates.dropped > 0 { print("\(updates.dropped) updates were lost; the store has all events") }
  /// }
  /// ```
  /// - Parameter limit: The number of updates that may wait for the reader; beyond that the oldest are dropped and
  ///   counted.
  public nonisolated func updates(limit: Int = 1024) -> BoundedStream<UploadUpdate> {
    store.feed.updates(limit: limit, beginsWithNewest: false)
  }
}
