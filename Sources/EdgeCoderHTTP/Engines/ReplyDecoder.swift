internal import EdgeCoder

/// A state machine that decodes the lines of the reply of one engine.
protocol ReplyDecoder: Sendable {
  /// Decodes one line.
  /// - Throws: ``EngineError`` when the engine reports a failure or breaks its protocol.
  mutating func decode(line: String) throws -> ReplyStep

  /// Returns `.finished` at the end of the stream, or throws an error if the reply is incomplete.
  mutating func end() throws -> ReplyStep
}

/// The result of decoding one line of a reply.
enum ReplyStep: Sendable, Hashable {
  /// No content: an empty line, or a keep-alive comment.
  case ignored
  /// Text, which may be empty, and restarts the idle timeout.
  case text(String)
  /// Thinking, which restarts the idle timeout, before text that may be empty.
  case thinking(String, then: String)
  /// Calls of tools, complete, after text.
  case toolCalls([ToolCall], after: String)
  /// The end of the reply, with its last thinking, its last text and its last calls of tools.
  case finished(String, Completion, [ToolCall] = [], after: String = "")
}

extension Completion.Reason {
  /// Creates the reason that a server names; servers have several words for the same.
  /// - Returns: `unknown` for what is no word.
  init(server word: String) {
    switch word.lowercased() {
    case "stop", "eos", "end_turn", "stop_sequence": self = .stop
    case "length", "max_tokens", "model_length": self = .length
    case let other: self = Self(rawValue: other) ?? Self.unknown
    }
  }

  /// The constant is a word, so it always parses.
  private static var unknown: Self { Self(rawValue: "unknown") ?? .stop }
}

extension EngineError {
  /// Returns the code of a refusal by the words of the server, which differ: `exceed_context_size_error` (llama.cpp),
  /// `context_length_exceeded` (OpenAI), `maximum context length` (vLLM), `exceeds the context length` (Ollama), `does not support tools` (Ollama), `image input is not supported` (llama.cpp),
  /// `missing data required for image input` (Ollama).
  static func code(ofRefusal text: String) -> Code {
    let text = text.lowercased()
    let isAboutImages =
      text.contains("image input") && ["not supported", "missing data"].contains { text.contains($0) }
    if text.contains("does not support") || isAboutImages { return .unsupported }
    let isAboutContext = text.contains("context") && ["exceed", "maximum", "too long"].contains { text.contains($0) }
    return isAboutContext ? .contextExceeded : .refused
  }

  /// Returns the error of a stream that ended before the reply was complete.
  static var endedEarly: EngineError {
    EngineError(
      .interrupted, "the model server closed the connection before the reply was complete",
      hint: "look at the log of the engine: it may have crashed or run out of memory")
  }
}
