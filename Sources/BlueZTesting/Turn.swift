import Streams

/// The time until a delayed call is served, for which the next one waits.
final class Turn: Sendable {
  private struct State {
    var hasEnded = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Lock(State())

  func wait() async {
    await withCheckedContinuation { next in
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.waiting.append(next) }
        return state.hasEnded
      }
      if hasEnded { next.resume() }
    }
  }

  func end() {
    let waiting = state.withLock { state in
      state.hasEnded = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for next in waiting { next.resume() }
  }
}
