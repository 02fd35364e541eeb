internal import EdgeCoder
internal import NIOConcurrencyHelpers

/// One prompt at work, whose text is taken piece by piece; whoever makes it waits until a piece is wanted.
///
/// Nobody who could take it any more ends it: with its last reference it is cancelled.
final class Generation: Sendable {
  private let wants: AsyncStream<Void>.Continuation
  private let pieces: AsyncStream<String>
  private let task: Task<InferenceReply, any Error>
  private let isAbandoned = NIOLockedValueBox(false)

  /// Begins at once.
  /// - Parameter work: gets what takes its text.
  init(
    _ work: @Sendable @escaping (_ onText: @Sendable @escaping (String) async -> Void) async throws -> InferenceReply
  ) {
    let (wanted, wants) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
    let (pieces, given) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(1))
    self.wants = wants
    self.pieces = pieces
    task = Task {
      defer { given.finish() }
      return try await work { piece in
        for await _ in wanted { break }
        given.yield(piece)
      }
    }
  }

  deinit { task.cancel() }

  /// The next piece of the text; `nil` when there is none any more, and when the task is cancelled.
  func next() async -> String? {
    wants.yield()
    for await piece in pieces { return piece }
    return nil
  }

  /// What came of it, when there are no more pieces.
  /// - Throws: what the work threw; ``APIError/clientGone`` after ``abandon()``.
  func result() async throws -> InferenceReply {
    do {
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    } catch is CancellationError where isAbandoned.withLockedValue({ $0 }) {
      throw APIError.clientGone
    }
  }

  /// Ends it, because what is still to come is not needed.
  func cancel() { task.cancel() }

  /// Ends it, because the client went away.
  func abandon() {
    isAbandoned.withLockedValue { $0 = true }
    task.cancel()
  }
}
