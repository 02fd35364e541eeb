/// A part of the output of an engine: a piece of the text, or the end of the reply.
public enum EngineOutput: Sendable, Hashable {
  /// The next piece of the text.
  case text(String)
  /// The end of the reply: why it ends, and what the engine counted. Nothing follows.
  case end(Completion)

  /// The piece of the text; `nil` for the end.
  public var text: String? {
    if case .text(let text) = self { text } else { nil }
  }
}
