internal import Streams

/// What a run has not taken yet: inputs, replies, and the ends of what it has begun.
final class RunInbox: Sendable {
  enum Item: Sendable {
    case input(CoverageRun.Input)
    case ping(PingMachine.Event)
    case connected(generation: Int, PingSocket)
    case problem(String)
  }

  let wake = WakeSignal()
  private struct State {
    var items: [Item] = []
    var isOver = false
  }

  private let state = Lock(State())

  /// The number of items that may wait; a run that takes none for so long is not run at all.
  private static let limit = 4096

  /// Adds an item; the oldest one is given up if too many wait, and all are after the end.
  func put(_ item: Item) {
    let isOver = state.withLock { state in
      guard !state.isOver else { return true }
      if state.items.count >= Self.limit { state.items.removeFirst() }
      state.items.append(item)
      return false
    }
    if !isOver { wake.signal() }
  }

  func take() -> [Item] {
    state.withLock { state in
      defer { state.items = [] }
      return state.items
    }
  }

  /// Gives up what waits and what comes later; a socket that is connected too late is closed with it.
  func end() {
    // Released outside the lock, which a closing socket may need.
    let rest = state.withLock { state in
      state.isOver = true
      defer { state.items = [] }
      return state.items
    }
    for case .connected(_, let late) in rest { late.close() }
  }
}
