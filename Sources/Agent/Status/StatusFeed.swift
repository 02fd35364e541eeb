internal import DBus

/// The newest status for whoever asks, and the changes for whoever reads.
final class StatusFeed: Sendable {
  private struct State {
    var newest: AgentStatus
    var readers: [Int: BoundedStream<AgentStatus>.Source] = [:]
    var nextReader = 0
    var hasEnded = false
  }

  private let state: Lock<State>

  init(_ status: AgentStatus) { state = Lock(State(newest: status)) }

  var newest: AgentStatus { state.withLock { $0.newest } }

  /// The newest status, and each that differs from the one before.
  func statuses(limit: Int) -> BoundedStream<AgentStatus> {
    let id = state.withLock { state in
      state.nextReader += 1
      return state.nextReader
    }
    let (stream, source) = BoundedStream.make(of: AgentStatus.self, limit: limit) { [weak self] in
      _ = self?.state.withLock { $0.readers.removeValue(forKey: id) }
    }
    let hasEnded = state.withLock { state in
      // Under the lock, so that the newest comes first.
      source.yield(state.newest)
      if !state.hasEnded { state.readers[id] = source }
      return state.hasEnded
    }
    if hasEnded { source.finish() }
    return stream
  }

  func publish(_ status: AgentStatus) {
    let readers = state.withLock { state -> [BoundedStream<AgentStatus>.Source] in
      guard status != state.newest, !state.hasEnded else { return [] }
      state.newest = status
      return Array(state.readers.values)
    }
    for reader in readers { reader.yield(status) }
  }

  func end() {
    let readers = state.withLock { state in
      defer { state.readers = [:] }
      state.hasEnded = true
      return Array(state.readers.values)
    }
    for reader in readers { reader.finish() }
  }
}
