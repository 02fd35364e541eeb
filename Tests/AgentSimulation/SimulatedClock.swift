/// A clock that the simulation moves, from one sleeper to the next.
final class SimulatedClock: Clock, @unchecked Sendable {
  // Sound: there is one thread, see Executor.

  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper {
    var deadline: Duration
    var id: Int
    var continuation: UnsafeContinuation<Void, any Error>
  }

  private(set) var now = Instant(offset: .zero)
  /// The latest first.
  private var sleepers: [Sleeper] = []
  private var nextID = 0

  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    nextID += 1
    let id = nextID
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
        // The seed may run the cancellation between the check above and here, where it found nobody to wake.
        if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
        if deadline <= now { return continuation.resume() }
        let place = sleepers.firstIndex { $0.deadline < deadline.offset } ?? sleepers.count
        sleepers.insert(Sleeper(deadline: deadline.offset, id: id, continuation: continuation), at: place)
      }
    } onCancel: {
      guard let place = sleepers.firstIndex(where: { $0.id == id }) else { return }
      sleepers.remove(at: place).continuation.resume(throwing: CancellationError())
    }
  }

  /// The instant of the next wake-up.
  var next: Duration? { sleepers.last?.deadline }

  /// Moves on, and wakes all who are due by then.
  func advance(to instant: Duration) {
    now.offset = max(now.offset, instant)
    while let last = sleepers.last, last.deadline <= now.offset {
      sleepers.removeLast()
      last.continuation.resume()
    }
  }

  /// Nobody who sleeps now is ever woken.
  func forgetSleepers() { sleepers = [] }
}
