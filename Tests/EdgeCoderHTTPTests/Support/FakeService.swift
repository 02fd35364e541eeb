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
  private let recorded = NIOLockedValueBox<[Call]>([])

  init(
    status: CentralStatus = CentralStatus(connected: true, scanning: false, modelState: "ready"),
    answer: @escaping @Sendable (Call) async throws -> InferenceReply
  ) {
    self.answer = answer
    state = status
  }

  /// A phone that answers every prompt with `output`.
  convenience init(output: String, ok: Bool = true, _ completion: Completion? = nil) {
    self.init { _ in
      InferenceReply(
        id: "ID-1", answer: Answer(output: output, ok: ok), durationMs: 42, phone: "Pixel", completion: completion)
    }
  }

  /// A central that fails every prompt.
  convenience init(failing error: InferenceError) {
    self.init { _ in throw error }
  }

  var calls: [Call] { recorded.withLockedValue { $0 } }

  func generate(
    _ request: InferenceRequest, onText: @Sendable @escaping (String) async -> Void
  ) async throws -> InferenceReply {
    let call = Call(prompt: request.prompt, maxTokens: request.maxTokens)
    recorded.withLockedValue { $0.append(call) }
    return try await answer(call)
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
