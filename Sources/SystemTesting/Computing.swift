internal import Streams
package import Testing

/// A trait of tests that compute for long: they run on one thread of their own, one after the other.
///
/// They take up to seconds without a pause, and many under a sanitizer. A small machine has two threads for all tasks:
/// two such tests would hold both, while other tests wait for an answer that has a time limit.
package struct Computing: SuiteTrait, TestTrait, TestScoping {
  private static let thread = Result { try ExecutorThread(named: "computing") }

  package let isRecursive = true

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(try Self.thread.get().executor) { try await function() }
  }
}

extension Trait where Self == Computing {
  package static var computing: Self { Self() }
}
