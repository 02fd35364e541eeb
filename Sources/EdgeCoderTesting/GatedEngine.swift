public import EdgeCoder
internal import Streams

/// An engine whose output a test controls piece by piece.
///
/// ```swift
/// import EdgeCoder
///
/// let engine = GatedEngine()
/// let output = engine.generate(InferenceRequest(prompt: "Hello", maxTokens: 8))
/// let prompt = try await engine.next()
/// prompt.say("Hi")
/// prompt.end()
/// for try await piece in output { print(piece.text ?? "") }  // Hi
/// ```
public final class GatedEngine: Engine {
  /// A prompt that the engine received, with its output stream.
  public struct Prompt: Sendable {
    /// The text of the prompt.
    public let text: String
    /// The limit on the tokens of the reply; `nil` leaves it to the engine.
    public let maxTokens: Int?
    let stream: AsyncThrowingStream<EngineOutput, any Error>.Continuation

    /// Streams one piece of the reply.
    public func say(_ piece: String) { stream.yield(.text(piece)) }
    /// Streams one piece of what the model thinks.
    public func think(_ piece: String) { stream.yield(.thinking(piece)) }
    /// Finishes the reply without an error.
    /// - Parameter completion: The end to report; `nil` reports none.
    public func end(_ completion: Completion? = nil) {
      if let completion { stream.yield(.end(completion)) }
      stream.finish()
    }
    /// Finishes the reply with an error.
    public func fail(_ error: any Error) { stream.finish(throwing: error) }
  }

  /// The name of the engine, `gated`.
  public let name = "gated"
  private let slotCount: Int
  private let state = Lock(ModelState.ready)
  private let questions = Counter()
  private let cancellations = Counter()
  private let prompts = BoundedStream.make(of: Prompt.self, limit: 64, policy: .dropNewest)

  /// Creates an engine whose model is ready.
  /// - Parameter slots: The number of prompts that the engine bears at a time.
  public init(slots: Int = 1) { slotCount = slots }

  /// Returns the number of prompts that the engine bears at a time.
  public func slots() async -> Int { slotCount }

  /// The state of the model that the engine reports.
  public var model: ModelState {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  /// The number of generations whose consumer cancelled them.
  public var cancelled: Int { cancellations.value }

  /// The number of times that the state of the model was read.
  public var asked: Int { questions.value }

  /// Returns ``model`` and counts the call.
  public func modelState() async -> ModelState {
    defer { questions.increment() }
    return model
  }

  /// Returns a stream that the test fills through ``next()``.
  public func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    let (stream, continuation) = AsyncThrowingStream<EngineOutput, any Error>.makeStream()
    continuation.onTermination = { [cancellations] reason in
      if case .cancelled = reason { cancellations.increment() }
    }
    prompts.source.yield(Prompt(text: request.prompt, maxTokens: request.maxTokens, stream: continuation))
    return stream
  }

  /// Waits for the next prompt that the engine receives.
  public func next() async throws -> Prompt {
    guard let prompt = await prompts.stream.first(where: { _ in true }) else { throw LoopbackError("no prompt") }
    return prompt
  }
}
