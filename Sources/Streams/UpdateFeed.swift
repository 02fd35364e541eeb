/// A feed that delivers each update to every reader, over a bounded stream of its own.
///
/// ```swift
/// let feed = UpdateFeed(0)
/// let updates = feed.updates(limit: 8)
/// feed.publish(1)
/// feed.end()
/// for await update in updates { print(update) }  // 0, 1
/// ```
package final class UpdateFeed<Update: Sendable>: Sendable {
  private struct State {
    var newest: Update?
    var readers: [Int: BoundedStream<Update>.Source] = [:]
    var nextReader = 0
    var hasEnded = false
  }

  private let state: Lock<State>

  /// Creates a feed.
  /// - Parameter newest: The value before the first update, if there is one.
  package init(_ newest: Update? = nil) { state = Lock(State(newest: newest)) }

  /// The newest update; `nil` before the first.
  package var newest: Update? { state.withLock { $0.newest } }

  /// A Boolean value that indicates whether any stream is being read.
  package var hasReaders: Bool { state.withLock { !$0.readers.isEmpty } }

  /// Returns a stream of the updates from now on.
  /// - Parameters:
  ///   - limit: The number of updates that may wait for the reader; beyond that the oldest are dropped.
  ///   - beginsWithNewest: Whether the newest update so far comes first.
  package func updates(limit: Int, beginsWithNewest: Bool = true) -> BoundedStream<Update> {
    makeStream(limit: limit) { newest in beginsWithNewest ? newest.map { [$0] } ?? [] : [] }
  }

  /// Returns a stream of the given updates and of those from now on.
  /// - Parameters:
  ///   - limit: The number of updates that may wait for the reader; beyond that the oldest are dropped.
  ///   - first: The updates that come first, whatever ``newest`` is.
  package func updates(limit: Int, beginningWith first: [Update]) -> BoundedStream<Update> {
    makeStream(limit: limit) { _ in first }
  }

  private func makeStream(limit: Int, beginning: (Update?) -> [Update]) -> BoundedStream<Update> {
    let id = state.withLock { state in
      state.nextReader += 1
      return state.nextReader
    }
    let (stream, source) = BoundedStream.make(of: Update.self, limit: limit) { [weak self] in
      _ = self?.state.withLock { $0.readers.removeValue(forKey: id) }
    }
    let hasEnded = state.withLock { state in
      // Under the lock, so that the newest comes first.
      for update in beginning(state.newest) { source.yield(update) }
      if !state.hasEnded { state.readers[id] = source }
      return state.hasEnded
    }
    if hasEnded { source.finish() }
    return stream
  }

  /// Stores the newest update and delivers it to the readers. Callers that publish from several threads keep the order.
  /// - Parameters:
  ///   - update: The new value of ``newest``.
  ///   - isDelivered: Whether the readers receive it, too.
  /// - Returns: The number of readers that lost an update because their streams were full.
  @discardableResult
  package func publish(_ update: Update, isDelivered: Bool = true) -> Int {
    let readers = state.withLock { state in
      state.newest = update
      return isDelivered ? Array(state.readers.values) : []
    }
    return readers.count { !$0.yield(update) }
  }

  /// Ends every stream, also those that are requested later.
  package func end() {
    let readers = state.withLock { state in
      defer { state.readers = [:] }
      state.hasEnded = true
      return Array(state.readers.values)
    }
    for reader in readers { reader.finish() }
  }
}
