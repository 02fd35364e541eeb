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
  private struct Reader {
    let source: BoundedStream<Update>.Source
    /// Returns whether an update is delivered, in the order of the updates.
    let wants: @Sendable (Update) -> Bool
  }

  private struct State {
    var newest: Update?
    var readers: [Int: Reader] = [:]
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

  /// Returns a stream of the newest update, and of those from now on that differ in a part from the one before: a reader
  /// of that part wakes for no other.
  /// - Parameters:
  ///   - limit: The number of updates that may wait for the reader; beyond that the oldest are dropped.
  ///   - part: A closure that returns the part of an update. It is called for each, by who publishes.
  package func updates<Part: Equatable & Sendable>(
    limit: Int, changing part: @escaping @Sendable (Update) -> Part
  ) -> BoundedStream<Update> {
    let last = Lock<Part?>(nil)
    return makeStream(limit: limit, { $0.map { [$0] } ?? [] }) { update in
      let new = part(update)
      return last.withLock { last in
        defer { last = new }
        return last != new
      }
    }
  }

  private func makeStream(
    limit: Int, _ beginning: (Update?) -> [Update], wants: @escaping @Sendable (Update) -> Bool = { _ in true }
  ) -> BoundedStream<Update> {
    let id = state.withLock { state in
      state.nextReader += 1
      return state.nextReader
    }
    let (stream, source) = BoundedStream.make(of: Update.self, limit: limit) { [weak self] in
      _ = self?.state.withLock { $0.readers.removeValue(forKey: id) }
    }
    let hasEnded = state.withLock { state in
      // Under the lock, so that the newest comes first.
      for update in beginning(state.newest) where wants(update) { source.yield(update) }
      if !state.hasEnded { state.readers[id] = Reader(source: source, wants: wants) }
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
    return readers.count { $0.wants(update) && !$0.source.yield(update) }
  }

  /// Ends every stream, also those that are requested later.
  package func end() {
    let readers = state.withLock { state in
      defer { state.readers = [:] }
      state.hasEnded = true
      return Array(state.readers.values)
    }
    for reader in readers { reader.source.finish() }
  }
}
