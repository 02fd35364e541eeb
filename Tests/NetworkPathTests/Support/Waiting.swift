import Streams
import SystemTesting

@testable import NetworkPath

/// The updates of a monitor, each awaited with a timeout.
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

  /// Returns the first update, from the next one on, whose path fulfils a condition.
  @discardableResult
  func until(_ what: String, _ isWanted: @escaping @Sendable (PathSnapshot) -> Bool) async throws -> PathUpdate {
    try await within(.seconds(60), what) {
      while let update = await self.updates.next() {
        self.seen.append(update)
        if isWanted(update.path) { return update }
      }
      throw TestTimeout("never happened: \(what); last: \(String(describing: self.seen.last))")
    }
  }
}
