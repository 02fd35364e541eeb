import DBus

/// A clock that stands still until the test moves it.
package final class ManualClock: Clock, Sendable {
  package struct Instant: InstantProtocol {
    package var offset: Duration
    package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    package func duration(to other: Instant) -> Duration { other.offset - offset }
    package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper {
    let id: Int
    let deadline: Duration
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Duration.zero
    var nextID = 0
    var sleepers: [Sleeper] = []
    var cancelled: Set<Int> = []
    var watchers: [(deadline: Duration, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Lock(State())

  package init() {}

  package var now: Instant { Instant(offset: state.withLock { $0.now }) }
  package var minimumResolution: Duration { .nanoseconds(1) }

  package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let result: Result<Void, any Error>? = state.withLock { state in
          if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
          if deadline.offset <= state.now { return .success(()) }
          state.sleepers.append(Sleeper(id: id, deadline: deadline.offset, continuation: continuation))
          return nil
        }
        if let result { continuation.resume(with: result) } else { notifyWatchers() }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
          state.cancelled.insert(id)
          return nil
        }
        return state.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Moves the clock and wakes whoever is due.
  package func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now += duration
      let due = state.sleepers.filter { $0.deadline <= state.now }.sorted { $0.deadline < $1.deadline }
      state.sleepers.removeAll { $0.deadline <= state.now }
      return due
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Waits until something sleeps until exactly this instant.
  package func waitForSleeper(until deadline: Duration) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.sleepers.contains(where: { $0.deadline == deadline }) { return true }
        state.watchers.append((deadline, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// Waits until something sleeps until exactly this instant, and moves there.
  package func advance(toSleeperAt deadline: Duration) async {
    await waitForSleeper(until: deadline)
    advance(by: deadline - now.offset)
  }

  private func notifyWatchers() {
    let ready = state.withLock { state in
      let deadlines = Set(state.sleepers.map(\.deadline))
      let ready = state.watchers.filter { deadlines.contains($0.deadline) }
      state.watchers.removeAll { deadlines.contains($0.deadline) }
      return ready
    }
    for watcher in ready { watcher.continuation.resume() }
  }
}
