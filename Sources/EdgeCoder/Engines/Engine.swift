/// An engine that answers prompts on a phone: a client of a local model server, or the echo engine.
///
/// An engine runs as many prompts at a time as ``slots()`` returns; ``modelState()`` may be called at any time.
///
/// ```swift
/// struct Reverse: Engine {
///   let name = "reverse"
///   func modelState() async -> ModelState { .ready }
///   func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
///     AsyncThrowingStream { output in
///       output.yield(.text(String(request.prompt.reversed())))
///       output.finish()
///     }
///   }
/// }
/// ```
public protocol Engine: Sendable {
  /// The short name of the engine for logs and status pages, for example `ollama`.
  var name: String { get }

  /// Returns the present state of the model within two seconds; an engine that does not answer by then is `.error`.
  func modelState() async -> ModelState

  /// Returns the model that would answer a prompt now, within two seconds; `nil` when unknown.
  func activeModel() async -> ActiveModel?

  /// Returns the number of prompts that the engine runs at a time, 1 or more, within two seconds.
  func slots() async -> Int

  /// The fields of requests that the engine uses, besides the prompt and the limit on tokens.
  ///
  /// A request with tools or a format that are not among them is refused before it reaches the engine. Of other fields
  /// that are not among them, whoever asked is told that they have no effect.
  var fields: Set<RequestField> { get }

  /// Runs one prompt and streams the text as it is produced.
  ///
  /// The stream finishes when the model stops or the limit of the request is reached, and reports which with
  /// ``EngineOutput/end(_:)``; a stream that finishes without it has stopped, and counted nothing. It throws
  /// ``EngineError`` when the engine is unreachable, refuses the prompt, or fails in the middle of the stream. Cancelling
  /// the consuming task, or releasing the stream, stops the generation.
  /// - Parameter request: The prompt, as it was received, the limit of its reply, and the details.
  func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error>

  /// Returns the embeddings of texts.
  /// - Throws: ``EngineError``, `.unsupported` for an engine or a model without embeddings; `CancellationError`.
  func embed(_ request: EmbeddingRequest) async throws -> Embeddings
}

extension Engine {
  /// Returns `nil`, for engines without models.
  public func activeModel() async -> ActiveModel? { nil }

  /// Returns 1, for engines that run one prompt after another.
  public func slots() async -> Int { 1 }

  /// No fields, for engines that use the prompt alone.
  public var fields: Set<RequestField> { [] }

  /// Returns the fields of a request that have no effect on the reply.
  /// - Throws: ``EngineError`` `.unsupported` if the request needs what the engine does not have.
  func ignored(of request: InferenceRequest) throws(EngineError) -> [RequestField] {
    if let refusal = fields.refusal(of: request.details) {
      throw EngineError(.unsupported, "the engine \(name) \(refusal)")
    }
    return fields.ignored(of: request.details)
  }
}

/// A model that an engine runs, with its size.
public struct ActiveModel: Sendable, Hashable {
  /// The name of the model in the engine.
  public var name: String
  /// The number of parameters in billions, more than 0; `nil` when unknown.
  public var billionsOfParameters: Double?

  /// Creates a model; a size that is not finite or not more than 0 counts as unknown.
  public init(name: String, billionsOfParameters: Double? = nil) {
    self.name = name
    self.billionsOfParameters = billionsOfParameters.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
  }
}
