internal import EdgeCoder

/// A joiner of the parts in which a stream of OpenAI's protocol sends calls of tools.
struct ToolCallAssembler: Sendable {
  /// The limit on the calls of one reply.
  static let limit = 128

  private struct Part {
    var id: String?
    var name = ""
    var arguments = ""
  }

  private var parts: [Int: Part] = [:]

  /// Adds a part.
  /// - Parameter index: The position of the call, if the part does not name it; `nil` for the last one.
  /// - Throws: ``EngineError`` for too many calls.
  mutating func add(_ part: OpenAIWire.Chunk.Choice.ToolCallPart, at index: Int?) throws(EngineError) {
    let last = parts.keys.max()
    // Servers that do not count the calls send each one whole, with its name.
    let index = part.index ?? index ?? (part.function?.name == nil ? last ?? 0 : (last ?? -1) + 1)
    guard (0..<Self.limit).contains(index) else {
      throw EngineError(.badReply, "the model server sent more than \(Self.limit) calls of tools")
    }
    var call = parts[index] ?? Part()
    call.id = call.id ?? part.id
    call.name += part.function?.name ?? ""
    call.arguments += part.function?.arguments ?? ""
    parts[index] = call
  }

  /// Returns the calls in order.
  /// - Throws: ``EngineError`` for a call without a name.
  mutating func finish() throws(EngineError) -> [ToolCall] {
    defer { parts = [:] }
    var calls: [ToolCall] = []
    for (_, part) in parts.sorted(by: { $0.key < $1.key }) {
      guard !part.name.isEmpty else {
        throw EngineError(.badReply, "the model server sent a call of a tool without a name")
      }
      let id = part.id.flatMap { $0.isEmpty ? nil : $0 } ?? ToolCall.newID()
      calls.append(ToolCall(id: id, name: part.name, arguments: part.arguments))
    }
    return calls
  }
}
