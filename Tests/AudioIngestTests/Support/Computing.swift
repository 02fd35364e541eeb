import AudioWearables
import Testing

/// Has tests compute on one thread of their own, one after the other.
///
/// They take up to seconds without a pause, under a sanitizer many; a small machine has two threads for all tasks, and
/// what waits there for an answer has a time limit.
struct Computing: SuiteTrait, TestTrait, TestScoping {
  private static let thread = Result { try RecordingThread() }

  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(try Self.thread.get().executor) { try await function() }
  }
}

extension Trait where Self == Computing {
  static var computing: Self { Self() }
}
