import Streams

/// A queue that runs asynchronous operations one after the other, in the order in which they were added.
package final class SerialQueue: Sendable {
  private let last = Lock<Task<Void, any Error>?>(nil)

  package init() {}

  /// Runs an operation after all earlier ones, and waits for it.
  package func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
    try await enqueue(body).value
  }

  /// Runs an operation after all earlier ones, and waits for it unless the task is cancelled; the operation then goes
  /// on without its caller.
  /// - Throws: The error of the operation; `CancellationError`.
  package func runUnlessCancelled(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let (results, source) = BoundedStream.make(of: Result<Void, any Error>.self, limit: 1, policy: .dropNewest)
    let step = enqueue(body)
    Task { source.yield(await step.result) }
    for await result in results { return try result.get() }
    throw CancellationError()
  }

  /// Schedules an operation to run after all earlier ones.
  @discardableResult
  package func enqueue(_ body: @escaping @Sendable () async throws -> Void) -> Task<Void, any Error> {
    last.withLock { last in
      let previous = last
      let task = Task {
        // The error belongs to the caller of the earlier operation; this one runs in any case.
        _ = await previous?.result
        try await body()
      }
      last = task
      return task
    }
  }
}
