internal import EdgeCoder
internal import FoundationEssentials
internal import JSONValues

/// The arguments of a call of a tool: OpenAI has them as text, Ollama as an object.
enum ToolArguments {
  /// Returns the object that a text stands for; `nil` if it is none. An empty text stands for no arguments.
  static func object(_ text: String) -> JSONValue? {
    if text.allSatisfy(\.isWhitespace) { return .object([]) }
    do {
      let value = try JSONValue(parsing: Array(text.utf8))
      return value.members == nil ? nil : value
    } catch {
      return nil
    }
  }
}

extension ToolCall {
  /// Returns an identifier for a call that has none.
  static func newID() -> String { "call_" + UUID().uuidString.lowercased() }
}
