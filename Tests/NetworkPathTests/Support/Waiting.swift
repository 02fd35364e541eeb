import Streams
import Testing
import Timing

@testable import NetworkPath

/// Something a test waits for did not happen in time.
struct TestTimeout: Error, CustomStringConvertible {
  var description: String
}

/// The updates of a monitor, each awaited with a bound.
final class Watcher: @unchecked Sendable {
  // Sound: one test's task uses it, awaiting each call.
  private var updates: BoundedStream<PathUpdate>.Iterator
  private let stream: BoundedStream<PathUpdate>
  private(set) var seen: [PathUpdate] = []

  init(_ monitor: NetworkPathMonitor) {
    stream = monitor.updates(limit: 1000)
    updates = stream.makeAsyncIterator()
  }

  var dropped: Int { stream.dropped }

  /// The first update, from the next one on, that is as wanted.
  @discardableResult
  func until(
    _ what: String, within limit: Duration = .seconds(60), _ isWanted: @Sendable (PathSnapshot) -> Bool
  ) async throws -> PathUpdate {
    while true {
      guard let update = try await next(within: limit) else {
        throw TestTimeout(description: "never happened: \(what); last: \(String(describing: seen.last))")
      }
      seen.append(update)
      if isWanted(update.path) { return update }
    }
  }

  private func next(within limit: Duration) async throws -> PathUpdate? {
    // Cancelling ends the stream: then the test has failed anyway.
    let reading = Task { await self.updates.next() }
    let alarm = Task {
      try await Task.sleep(for: limit, clock: .steady)
      reading.cancel()
    }
    defer { alarm.cancel() }
    return await reading.value
  }
}

/// Waits until a condition holds, for at most a minute.
func eventually(_ what: String, _ condition: () throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(60)
  while try !condition() {
    guard ContinuousClock.now < end else { throw TestTimeout(description: "never happened: \(what)") }
    try await Task.sleep(for: .milliseconds(5), clock: .steady)
  }
}
