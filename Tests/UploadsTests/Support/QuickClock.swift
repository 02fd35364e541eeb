import Timing

/// A clock on which waits pass a hundred times as fast.
struct QuickClock: Clock {
  typealias Instant = ContinuousClock.Instant
  private let origin = ContinuousClock.now

  var now: Instant { origin + origin.duration(to: .now) * 100 }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await Task.sleep(for: max(now.duration(to: deadline) / 100, Duration.zero), clock: .steady)
  }
}
