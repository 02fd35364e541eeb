/// A prompt, with the limits of its reply.
///
/// ```swift
/// let request = InferenceRequest(prompt: "Why is the sky blue?", maxTokens: 64)
/// for try await output in EchoEngine().generate(request) { print(output.text ?? "") }
/// ```
public struct InferenceRequest: Sendable, Hashable {
  /// The prompt for the model.
  public var prompt: String
  /// The limit on the tokens of the reply, 1 or more; `nil` selects the default of the engine.
  ///
  /// A request that reaches its phone without a v2 mux has ``Wire/defaultMaxTokens`` instead of `nil`.
  public var maxTokens: Int?

  /// Creates a request from its fields.
  public init(prompt: String, maxTokens: Int? = nil) {
    self.prompt = prompt
    self.maxTokens = maxTokens
  }
}
