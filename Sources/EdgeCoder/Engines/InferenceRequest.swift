/// A prompt, with the limits of its reply and everything else that a client asks for.
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
  /// The messages, the options, the format and the tools.
  ///
  /// An engine that does not have messages uses ``prompt``.
  public var details = RequestDetails()

  /// Creates a request from its prompt and its limit.
  public init(prompt: String, maxTokens: Int? = nil) {
    self.prompt = prompt
    self.maxTokens = maxTokens
  }

  /// Creates a request for the next message of a conversation, whose prompt is ``ChatMessage/prompt(for:)``.
  public init(messages: [ChatMessage], maxTokens: Int? = nil) {
    self.init(prompt: ChatMessage.prompt(for: messages), maxTokens: maxTokens)
    details.messages = messages
  }

  /// The conversation for an engine that has messages: without any, the prompt is that of the user.
  package var conversation: [ChatMessage] {
    details.messages.isEmpty ? [ChatMessage(.user, prompt)] : details.messages
  }
}
