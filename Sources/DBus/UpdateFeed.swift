/// Hands updates to all who read them, each over a stream of its own.
package final class UpdateFeed<Update: Sendable>: Sendable {
  private struct State {
    var newest: Update?
    var readers: [Int: BoundedStream<Update>.Source] = [:]
    var nextReader = 0
    var hasEnded = false
  }

  private let state: Lock<State>

  /// Makes a feed.
  /// - Parameter newest: what there is already.
  package init(_ newest: Update? = nil) { state = Lock(State(newest: newest)) }

  /// The newest; `nil` before the first.
  package var newest: Update? { state.withLock { $0.newest } }

  /// The updates from now on.
  /// - Parameters:
  ///   - limit: how many may wait for the reader, 1 or more; beyond that the oldest go.
  ///   - beginsWithNewest: whether the newest there is comes first.
  package func updates(limit: Int, beginsWithNewest: Bool = true) -> BoundedStream<Update> {
    let id = state.withLock { state in
      state.nextReader += 1
      return state.nextReader
    }
    let (stream, source) = BoundedStream.make(of: Update.self, limit: limit) { [weak self] in
      _ = self?.state.withLock { $0.readers.removeValue(forKey: id) }
    }
    let hasEnded = state.withLock { state in
      // Under the lock, so that the newest comes first.
      if beginsWithNewest, let newest = state.newest { source.yield(newest) }
      if !state.hasEnded { state.readers[id] = source }
      return state.hasEnded
    }
    if hasEnded { source.finish() }
    return stream
  }

  /// Takes in the newest. Callers see to the order.
  /// - Parameter isNews: whether those who read hear of it.
  package func publish(_ update: Update, isNews: Bool = true) {
    let readers = state.withLock { state in
      state.newest = update
      return isNews ? Array(state.readers.values) : []
    }
    for reader in readers { reader.yield(update) }
  }

  /// Ends all streams, also those that are asked for later.
  package func end() {
    let readers = state.withLock { state in
      defer { state.readers = [:] }
      state.hasEnded = true
      return Array(state.readers.values)
    }
    for reader in readers { reader.finish() }
  }
}
