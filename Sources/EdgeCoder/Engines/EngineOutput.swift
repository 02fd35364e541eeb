/// A part of the output of an engine: a piece of the text or of the thinking before it, a call of a tool, or the end of the reply.
public enum EngineOutput: Sendable, Hashable {
  /// The next piece of the text.
  case text(String)
  /// The next piece of what the model thinks before its text.
  case thinking(String)
  /// A call of a tool, complete.
  case toolCall(ToolCall)
  /// The fields of the request that the engine does not use after all, because its server refuses them; before any text.
  case ignored([RequestField])
  /// The end of the reply: why it ends, and what the engine counted. Nothing follows.
  case end(Completion)

  /// The piece of the text; `nil` for other parts.
  public var text: String? {
    if case .text(let text) = self { text } else { nil }
  }
}

/// A part of a reply on its way to whoever asked.
public enum ReplyPart: Sendable, Hashable {
  /// The fields of the request that have no effect on the reply, because the phone or the connection does not support
  /// them; before any text. More than one such part may arrive.
  case ignored([RequestField])
  /// The next piece of the text.
  case text(String)
  /// The next piece of what the model thinks before its text.
  ///
  /// An empty piece says that the model works, where the connection does not carry its thinking.
  case thinking(String)
  /// A call of a tool, complete.
  case toolCall(ToolCall)
  /// The number of requests that the phone answers before this one, 1 or more. It is no sign that the phone has begun.
  case waiting(ahead: Int)
}

/// The order of the parts of a reply: what has no effect is named before the first text, and not before there is some, so
/// that a phone that stays mute has said nothing.
struct PartSequence: Sendable {
  private var ignored: [RequestField]

  /// - Parameter ignored: The fields that are known before the engine starts.
  init(ignored: [RequestField]) { self.ignored = ignored }

  /// Returns the parts that an output of an engine leads to.
  mutating func parts(of output: EngineOutput) -> [ReplyPart] {
    let part: ReplyPart
    switch output {
    case .text(let text): part = .text(text)
    case .thinking(let text): part = .thinking(text)
    case .toolCall(let call): part = .toolCall(call)
    case .ignored(let fields):
      ignored += fields.filter { !ignored.contains($0) }
      return []
    case .end: return []
    }
    defer { ignored = [] }
    return ignored.isEmpty ? [part] : [.ignored(ignored), part]
  }
}
