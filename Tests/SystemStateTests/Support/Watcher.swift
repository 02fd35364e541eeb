import Streams
import SystemTesting

/// The updates of a monitor, each awaited with a timeout.
final class Watcher<Update: Sendable>: @unchecked Sendable {
  // Sound: one test's task uses it, awaiting each call.
  private var updates: BoundedStream<Update>.Iterator
  private(set) var seen: [Update] = []

  init(_ updates: BoundedStream<Update>) { self.updates = updates.makeAsyncIterator() }

  /// Returns the first update, from the next one on, that fulfils a condition.
  @discardableResult
  func until(_ what: String, _ isWanted: @escaping @Sendable (Update) -> Bool) async throws -> Update {
    try await within(.seconds(60), what) {
      while let update = await self.updates.next() {
        self.seen.append(update)
        if isWanted(update) { return update }
      }
      throw TestTimeout("never happened: \(what); last: \(String(describing: self.seen.last))")
    }
  }

  /// Returns the next update; `nil` after the last.
  func next() async throws -> Update? {
    try await within(.seconds(60), "the next update") { await self.updates.next() }
  }
}
