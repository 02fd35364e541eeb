internal import EdgeCoder
internal import NIOConcurrencyHelpers

/// A running prompt whose reply is consumed part by part; the producer waits until the next piece is requested.
///
/// The prompt is cancelled with the last reference.
final class Generation: Sendable {
  private let wants: AsyncStream<Void>.Continuation
  private let pieces: AsyncStream<ReplyPart>
  private let task: Task<InferenceReply, any Error>
  private let isAbandoned = NIOLockedValueBox(false)

  /// Starts the work at once.
  /// - Parameter work: The work, which passes the parts of its reply to the given closure.
  init(
    _ work: @Sendable @escaping (_ onPart: @Sendable @escaping (ReplyPart) async -> Void) async throws -> InferenceReply
  ) {
    let (wanted, wants) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
    let (pieces, given) = AsyncStream.makeStream(of: ReplyPart.self, bufferingPolicy: .bufferingOldest(1))
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

  /// Returns the next part of the reply; `nil` at the end, and when the task is cancelled.
  func next() async -> ReplyPart? {
    wants.yield()
    for await piece in pieces { return piece }
    return nil
  }

  /// Returns the reply after the last piece.
  /// - Throws: The error of the work; ``APIError/clientGone`` after ``abandon()``.
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

  /// Cancels the prompt, because the rest of its text is not needed.
  func cancel() { task.cancel() }

  /// Cancels the prompt, because the client disconnected.
  func abandon() {
    isAbandoned.withLockedValue { $0 = true }
    task.cancel()
  }
}
