internal import Streams

/// A clock that stands still until a test moves it.
///
/// Inject it wherever code takes a clock or a `TimeSource`:
///
/// ```swift
/// let clock = ManualClock()
/// let sleeper = Task { try await Task.sleep(for: .seconds(3600), clock: clock) }
/// await clock.advance(toSleeperAt: .seconds(3600))
/// try await sleeper.value
/// ```
public final class ManualClock: Clock, Sendable {
  /// An instant of a manual clock.
  public struct Instant: InstantProtocol {
    /// The time since the clock was created.
    public var offset: Duration
    /// Returns the instant that is later by a duration.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    /// Returns the duration from this instant to another one.
    public func duration(to other: Instant) -> Duration { other.offset - offset }
    /// Returns whether the left instant is the earlier one.
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
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
    var watchers: [Int: (deadline: Duration, continuation: CheckedContinuation<Bool, Never>)] = [:]

    mutating func makeID() -> Int {
      nextID += 1
      return nextID
    }
  }

  private let state = Lock(State())

  /// Creates a clock that shows zero.
  public init() {}

  /// The instant that the test has moved the clock to.
  public var now: Instant { Instant(offset: state.withLock { $0.now }) }
  /// The smallest step of the clock, one nanosecond.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Waits until a test has moved the clock to an instant.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    let id = state.withLock { $0.makeID() }
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

  /// Moves the clock forward and wakes the sleepers that are due, in the order of their deadlines.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now += duration
      let due = state.sleepers.filter { $0.deadline <= state.now }.sorted { $0.deadline < $1.deadline }
      state.sleepers.removeAll { $0.deadline <= state.now }
      return due
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Waits until a task sleeps until exactly the given instant.
  /// - Returns: `false` if the waiting task was cancelled before, as by the time limit of its test.
  @discardableResult public func waitForSleeper(until deadline: Duration) async -> Bool {
    let id = state.withLock { $0.makeID() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isThere: Bool? = state.withLock { state in
          if state.cancelled.remove(id) != nil { return false }
          if state.sleepers.contains(where: { $0.deadline == deadline }) { return true }
          state.watchers[id] = (deadline, continuation)
          return nil
        }
        if let isThere { continuation.resume(returning: isThere) }
      }
    } onCancel: {
      let watcher = state.withLock { state in
        let watcher = state.watchers.removeValue(forKey: id)
        if watcher == nil { state.cancelled.insert(id) }
        return watcher
      }
      watcher?.continuation.resume(returning: false)
    }
  }

  /// Waits until a task sleeps until exactly the given instant, and moves the clock there.
  ///
  /// The clock stays where it is when the waiting task is cancelled.
  public func advance(toSleeperAt deadline: Duration) async {
    guard await waitForSleeper(until: deadline) else { return }
    advance(by: deadline - now.offset)
  }

  private func notifyWatchers() {
    let ready = state.withLock { state in
      let deadlines = Set(state.sleepers.map(\.deadline))
      let ready = state.watchers.filter { deadlines.contains($0.value.deadline) }
      for id in ready.keys { state.watchers[id] = nil }
      return ready.values
    }
    for watcher in ready { watcher.continuation.resume(returning: true) }
  }
}
