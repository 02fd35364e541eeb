internal import EdgeCoder
internal import JSONValues

/// One message of a conversation, as Ollama (`content` is text, beside `images`) or OpenAI (`content` is text or parts)
/// sends it.
struct MessageBody: Decodable, Sendable {
  private struct Part: Decodable {
    struct Image: Decodable { let url: String }
    let type: String
    let text: String?
    var image_url: Image?
  }

  let role: String
  private let parts: [Part]

  private enum CodingKeys: CodingKey { case role, content }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    role = try container.decode(String.self, forKey: .role)
    do {
      parts = try container.decodeIfPresent(String.self, forKey: .content).map { [Part(type: "text", text: $0)] } ?? []
    } catch is DecodingError {
      parts = try container.decode([Part].self, forKey: .content)
    }
  }

  /// Returns the messages of a conversation.
  /// - Parameter json: The same messages in the body, for what must keep its order.
  /// - Throws: ``APIError`` 400 for a conversation that is empty, and for anything that is neither text nor a picture.
  static func messages(_ bodies: [MessageBody], _ json: JSONValue?) throws -> [ChatMessage] {
    guard !bodies.isEmpty else { throw APIError.badRequest("`messages` is empty") }
    let elements = json?.elements ?? []
    return try bodies.enumerated().map { index, body in
      try body.message(at: index, elements.indices.contains(index) ? elements[index] : .null)
    }
  }

  private func message(at index: Int, _ json: JSONValue) throws -> ChatMessage {
    var message = ChatMessage(try role(at: index), "")
    message.images = try RequestImages.ollama(json, at: "messages[\(index)].images")
    for part in parts { try add(part, to: &message, at: index) }
    message.toolCalls = try (json["tool_calls"]?.elements ?? []).map { try Self.call($0, at: index) }
    guard message.role == .tool else { return message }
    message.toolCallID = json["tool_call_id"]?.text
    message.toolName = json["tool_name"]?.text ?? json["name"]?.text
    return message
  }

  private func role(at index: Int) throws -> ChatMessage.Role {
    switch role {
    case "system", "developer": return .system
    case "user": return .user
    case "assistant": return .assistant
    case "tool", "function": return .tool
    default:
      throw APIError.badRequest("`messages[\(index)].role` is not system, developer, user, assistant or tool")
    }
  }

  private func add(_ part: Part, to message: inout ChatMessage, at index: Int) throws {
    let place = "messages[\(index)].content"
    switch part.type {
    case "image_url":
      message.images.append(try RequestImages.url(part.image_url?.url, after: message.content, at: place))
    case "text" where part.text != nil: message.content += part.text ?? ""
    default: throw APIError.badRequest("`\(place)` contains a part that is neither text nor a picture")
    }
  }

  /// Reads a call of a tool; OpenAI has its arguments as text, Ollama as an object.
  private static func call(_ json: JSONValue, at index: Int) throws -> ToolCall {
    guard let function = json["function"], let name = function["name"]?.text, !name.isEmpty else {
      throw APIError.badRequest("`messages[\(index)].tool_calls` contains a call without a name")
    }
    let arguments = function["arguments"] ?? .object([])
    return ToolCall(
      id: json["id"]?.text ?? ToolCall.newID(), name: name,
      arguments: arguments.text ?? String(decoding: arguments.encoded, as: UTF8.self))
  }
}
