import Streams

@testable import EdgeCoder

/// An engine that answers when the test says so, and tells what it was asked.
final class GatedEngine: Engine {
  struct Prompt: Sendable {
    let text: String
    let maxTokens: Int
    let stream: AsyncThrowingStream<String, any Error>.Continuation

    /// Streams one piece.
    func say(_ piece: String) { stream.yield(piece) }
    /// Ends the answer.
    func end() { stream.finish() }
    /// Breaks the answer off.
    func fail(_ error: any Error) { stream.finish(throwing: error) }
  }

  let name = "gated"
  private let state = Lock(ModelState.ready)
  private let questions = Counter()
  private let cancellations = Counter()
  private let prompts = BoundedStream.make(of: Prompt.self, limit: 64, policy: .dropNewest)

  var model: ModelState {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  /// Generations whose consumer went away.
  var cancelled: Int { cancellations.value }

  /// How often somebody asked for the model's state.
  var asked: Int { questions.value }

  func modelState() async -> ModelState {
    defer { questions.increment() }
    return model
  }

  func generate(prompt: String, maxTokens: Int) -> AsyncThrowingStream<String, any Error> {
    let (stream, continuation) = AsyncThrowingStream<String, any Error>.makeStream()
    continuation.onTermination = { [cancellations] reason in
      if case .cancelled = reason { cancellations.increment() }
    }
    prompts.source.yield(Prompt(text: prompt, maxTokens: maxTokens, stream: continuation))
    return stream
  }

  /// The next prompt the phone handed over.
  func next() async throws -> Prompt {
    guard let prompt = await prompts.stream.first(where: { _ in true }) else { throw LoopbackError("no prompt") }
    return prompt
  }
}
