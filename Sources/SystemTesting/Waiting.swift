internal import Timing

/// An event that a test waited for and that did not happen in time.
public struct TestTimeout: Error, Sendable, CustomStringConvertible {
  /// The sentence that names the event and the timeout.
  public let description: String

  /// Creates an error with a sentence for the test's report.
  public init(_ description: String) { self.description = description }
}

/// Runs a test's body with a timeout, so that a fault hangs one test and not the suite.
/// - Parameters:
///   - limit: The timeout.
///   - what: The name of the work in the error.
///   - body: The work; it is cancelled at the timeout and must honour that.
/// - Returns: The body's result.
/// - Throws: ``TestTimeout``; the error that the body throws.
public func within<R: Sendable>(
  _ limit: Duration = .seconds(300), _ what: String = "the test's work",
  _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  try await withThrowingTaskGroup(of: R.self) { group in
    group.addTask(operation: body)
    group.addTask {
      try await Task.sleep(for: limit, clock: .steady)
      throw TestTimeout("\(what) took longer than \(limit)")
    }
    defer { group.cancelAll() }
    guard let result = try await group.next() else { throw TestTimeout(what) }
    return result
  }
}

/// Waits until a condition holds, looking every 5 ms of real time.
///
/// ```swift
/// try await eventually("the file exists") { FileManager.default.fileExists(atPath: "/tmp/ready") }
/// ```
/// - Parameters:
///   - what: The condition in words, for the error.
///   - limit: The timeout.
///   - isolation: The actor of the caller, on which the condition runs.
///   - condition: The condition.
/// - Throws: ``TestTimeout``; the error that the condition throws.
public func eventually(
  _ what: String = "the condition", within limit: Duration = .seconds(300),
  isolation: isolated (any Actor)? = #isolation,
  _ condition: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + limit
  while try await !condition() {
    guard ContinuousClock.now < end else { throw TestTimeout("never happened within \(limit): \(what)") }
    try await Task.sleep(for: .milliseconds(5), clock: .steady)
  }
}
