internal import EdgeCoder
internal import JSONValues

/// The body of `/v1/responses`; names are those of the protocol.
struct ResponsesRequest: Decodable, Sendable {
  let model: String?
  let instructions: String?
  let max_output_tokens: Int?
  let stream: Bool?
}

extension RequestBody<ResponsesRequest> {
  /// The fields that are refused: replies are not kept, and do not run without their client.
  private static let refused: [(name: String, reason: String)] = [
    ("previous_response_id", "replies are not kept: send the whole conversation in `input`"),
    ("conversation", "conversations are not kept: send the whole conversation in `input`"),
    ("background", "a reply ends with its client"), ("prompt", "prompt templates are not kept"),
  ]

  private static let known: Set<String> = Set(["temperature", "top_p"]).union(refused.map(\.name)).union([
    "model", "input", "instructions", "max_output_tokens", "stream", "stream_options", "tools", "tool_choice", "text",
    "parallel_tool_calls", "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
    "prompt_cache_retention", "truncation", "include",
  ])

  /// Returns the prompt for a phone.
  /// - Throws: ``APIError`` 400 for an input that is not valid, or for an unsupported feature.
  func checkedPrompt() throws -> Prompt {
    try ModelName.check(fields.model)
    if let (name, reason) = Self.refused.first(where: { json.set($0.name) != nil }) {
      throw APIError.badRequest("\(HTTPAPI.modelName) does not support `\(name)`: \(reason)")
    }
    let instructions = fields.instructions.flatMap { $0.isEmpty ? nil : ChatMessage(.system, $0) }
    var prompt = Prompt(
      messages: (instructions.map { [$0] } ?? []) + (try ResponsesInput.messages(json["input"])),
      maxTokens: try TokenLimit.checked(fields.max_output_tokens, name: "max_output_tokens"),
      try DetailFields.options(among: json))
    prompt.request.details.format = try format()
    prompt.request.details.tools = try tools()
    prompt.request.details.toolChoice = try DetailFields.toolChoice(json)
    prompt.ignored = DetailFields.unknown(in: json, known: Self.known)
    if json["parallel_tool_calls"] == .bool(false), !prompt.request.details.tools.isEmpty {
      prompt.ignored.append("parallel_tool_calls")
    }
    return prompt
  }

  private func format() throws -> RequestDetails.Format? {
    guard let format = json["text"]?.set("format") else { return nil }
    switch format["type"]?.text {
    case "text": return nil
    case "json_object": return .json
    case "json_schema":
      guard let schema = format["schema"], schema.members != nil else {
        throw APIError.badRequest("`text.format.schema` is missing")
      }
      return .schema(schema, isStrict: format["strict"]?.isTrue ?? false)
    default: throw APIError.badRequest("`text.format.type` is not text, json_object or json_schema")
    }
  }

  /// Returns the tools in the form of the other routes, where a function is an object of its own.
  private func tools() throws -> [JSONValue] {
    guard let value = json.set("tools") else { return [] }
    guard let tools = value.elements else { throw APIError.badRequest("`tools` is not a list") }
    return try tools.enumerated().map { index, tool in
      guard tool["type"]?.text == "function", tool["name"]?.text?.isEmpty == false else {
        throw APIError.badRequest(
          "\(HTTPAPI.modelName) does not support tools other than functions with a name (`tools[\(index)]`)")
      }
      let function = (tool.members ?? []).filter { $0.name != "type" }
      return .object([.init("type", .string("function")), .init("function", .object(function))])
    }
  }
}

/// The `input` of `/v1/responses`: a text, or a list of messages, calls of tools and their answers.
enum ResponsesInput {
  /// Returns the messages of an input.
  /// - Throws: ``APIError`` 400 for an input that is missing, and for anything that is neither text nor a picture.
  static func messages(_ input: JSONValue?) throws -> [ChatMessage] {
    if let text = input?.text, !text.isEmpty { return [ChatMessage(.user, text)] }
    guard let items = input?.elements, !items.isEmpty else {
      throw APIError.badRequest("`input` is missing, empty, or not a text or a list")
    }
    var messages: [ChatMessage] = []
    for (index, item) in items.enumerated() {
      switch item["type"]?.text ?? "message" {
      case "message": messages.append(try message(item, at: index))
      case "function_call": add(try call(item, at: index), to: &messages)
      case "function_call_output": messages.append(try output(item, at: index))
      // What a model has thought before is of no use to another one.
      case "reasoning": continue
      default: throw APIError.badRequest("`input[\(index)].type` is not supported")
      }
    }
    return messages
  }

  private static func message(_ item: JSONValue, at index: Int) throws -> ChatMessage {
    let role: ChatMessage.Role
    switch item["role"]?.text {
    case "system", "developer": role = .system
    case "user": role = .user
    case "assistant": role = .assistant
    default: throw APIError.badRequest("`input[\(index)].role` is not system, developer, user or assistant")
    }
    var message = ChatMessage(role, "")
    try add(item["content"], to: &message, at: "input[\(index)].content")
    return message
  }

  /// Adds a text, or the parts of a list, to a message.
  private static func add(_ content: JSONValue?, to message: inout ChatMessage, at place: String) throws {
    if let text = content?.text {
      message.content += text
      return
    }
    guard let parts = content?.elements else { throw APIError.badRequest("`\(place)` is missing") }
    for part in parts {
      switch part["type"]?.text {
      case "input_image":
        message.images.append(try RequestImages.url(part["image_url"]?.text, after: message.content, at: place))
      case "input_text", "output_text", "text":
        guard let text = part["text"]?.text else {
          throw APIError.badRequest("`\(place)` contains a part without text")
        }
        message.content += text
      default: throw APIError.badRequest("`\(place)` contains a part that is neither text nor a picture")
      }
    }
  }

  private static func call(_ item: JSONValue, at index: Int) throws -> ToolCall {
    guard let id = item["call_id"]?.text, let name = item["name"]?.text, let arguments = item["arguments"]?.text else {
      throw APIError.badRequest("`input[\(index)]` is a call without `call_id`, `name` or `arguments`")
    }
    return ToolCall(id: id, name: name, arguments: arguments)
  }

  /// Adds a call to the message of the assistant before it, of which it is a part.
  private static func add(_ call: ToolCall, to messages: inout [ChatMessage]) {
    if messages.last?.role != .assistant { messages.append(ChatMessage(.assistant, "")) }
    messages[messages.count - 1].toolCalls.append(call)
  }

  private static func output(_ item: JSONValue, at index: Int) throws -> ChatMessage {
    var message = ChatMessage(.tool, "")
    try add(item["output"], to: &message, at: "input[\(index)].output")
    guard let id = item["call_id"]?.text else { throw APIError.badRequest("`input[\(index)].call_id` is missing") }
    message.toolCallID = id
    return message
  }
}
