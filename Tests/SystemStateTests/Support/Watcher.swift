import Streams
import Timing

/// Something a test waits for did not happen in time.
struct TestTimeout: Error, CustomStringConvertible {
  var description: String
}

/// The updates of a monitor, each awaited with a bound.
final class Watcher<Update: Sendable>: @unchecked Sendable {
  // Sound: one test's task uses it, awaiting each call.
  private var updates: BoundedStream<Update>.Iterator
  private(set) var seen: [Update] = []

  init(_ updates: BoundedStream<Update>) { self.updates = updates.makeAsyncIterator() }

  /// The first update, from the next one on, that is as wanted.
  @discardableResult
  func until(_ what: String, _ isWanted: @Sendable (Update) -> Bool) async throws -> Update {
    while true {
      guard let update = try await next() else {
        throw TestTimeout(description: "never happened: \(what); last: \(String(describing: seen.last))")
      }
      seen.append(update)
      if isWanted(update) { return update }
    }
  }

  /// The next one; `nil` after the last, or after a minute without any.
  func next() async throws -> Update? {
    // Cancelling ends the stream: then the test has failed anyway.
    let reading = Task { await self.updates.next() }
    let alarm = Task {
      try await Task.sleep(for: .seconds(60), clock: .steady)
      reading.cancel()
    }
    defer { alarm.cancel() }
    return await reading.value
  }
}
