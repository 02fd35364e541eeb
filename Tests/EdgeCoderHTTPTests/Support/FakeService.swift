import EdgeCoder
import EdgeCoderTesting
import NIOConcurrencyHelpers

/// An inference service that follows a test's orders, and records the requests.
final class FakeService: InferenceService {
  struct Call: Sendable, Equatable {
    let prompt: String
    let maxTokens: Int?
  }

  private let answer: @Sendable (Call) async throws -> InferenceReply
  private let state: CentralStatus
  private let recorded = NIOLockedValueBox<[InferenceRequest]>([])
  private let embedded = NIOLockedValueBox<[EmbeddingRequest]>([])
  private let parts: [ReplyPart]

  /// - Parameter parts: What arrives before the reply.
  init(
    status: CentralStatus = CentralStatus(connected: true, scanning: false, modelState: "ready"),
    parts: [ReplyPart] = [],
    answer: @escaping @Sendable (Call) async throws -> InferenceReply
  ) {
    self.answer = answer
    self.parts = parts
    state = status
  }

  /// A phone that answers every prompt with `output`.
  convenience init(output: String, ok: Bool = true, _ completion: Completion? = nil, parts: [ReplyPart] = []) {
    self.init(parts: parts) { _ in
      InferenceReply(
        id: "ID-1", answer: Answer(output: output, ok: ok), durationMs: 42, phone: "Pixel", completion: completion)
    }
  }

  /// A central that fails every prompt.
  convenience init(failing error: InferenceError) {
    self.init { _ in throw error }
  }

  var calls: [Call] { requests.map { Call(prompt: $0.prompt, maxTokens: $0.maxTokens) } }
  var requests: [InferenceRequest] { recorded.withLockedValue { $0 } }
  var embeddingRequests: [EmbeddingRequest] { embedded.withLockedValue { $0 } }

  func generate(
    _ request: InferenceRequest, onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> InferenceReply {
    recorded.withLockedValue { $0.append(request) }
    for part in parts { await onPart(part) }
    return try await answer(Call(prompt: request.prompt, maxTokens: request.maxTokens))
  }

  /// Returns for each text a vector with its length.
  func embed(_ request: EmbeddingRequest) async throws -> Embeddings {
    embedded.withLockedValue { $0.append(request) }
    var embeddings = Embeddings(vectors: request.texts.map { [Double($0.utf8.count), -0.5] })
    embeddings.promptTokens = 7
    embeddings.loadTime = .nanoseconds(11)
    return embeddings
  }

  func status() async -> CentralStatus { state }
}

extension Completion {
  /// A reply that reached a limit, with every count.
  static var counted: Completion {
    var completion = Completion(.length)
    completion.promptTokens = 3
    completion.replyTokens = 5
    completion.loadTime = .nanoseconds(11)
    completion.promptTime = .nanoseconds(12)
    completion.replyTime = .nanoseconds(13)
    return completion
  }
}

/// One event, waited for without polling.
struct Signal: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
  }

  func fire() { continuation.yield() }

  /// Returns when the event has happened; the test's time limit bounds the wait.
  func wait() async { for await _ in stream { return } }
}

/// Suspends until the task is cancelled.
func untilCancelled() async throws {
  while true { try await Task.sleep(for: .seconds(3600)) }
}
