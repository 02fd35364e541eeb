internal import EdgeCoder
internal import FoundationEssentials
internal import JSONValues

/// The messages between ``OllamaEngine`` and an Ollama server; property names are those of the protocol.
enum OllamaWire {
  /// One request in the form of its route.
  ///
  /// It is JSON in order, so that a schema arrives as the client wrote it.
  struct Request {
    let path: String
    let body: [UInt8]

    init(model: String, _ request: InferenceRequest) {
      let details = request.details
      let tools = details.toolChoice == .none ? [] : details.tools
      let fields = details.fields
      let isChat = !tools.isEmpty || fields.contains(.messages) || fields.contains(.images)
      path = isChat ? "/api/chat" : "/api/generate"
      var options: [JSONValue.Member] = []
      // Absent for the default of the model.
      if let limit = request.maxTokens { options.append(.init("num_predict", .number(max(1, limit)))) }
      options += details.options.members
      var members: [JSONValue.Member] = [.init("model", .string(model))]
      if isChat {
        members.append(.init("messages", .array(request.conversation.flatMap(OllamaWire.messages))))
      } else {
        members.append(.init("prompt", .string(request.prompt)))
      }
      members += [.init("stream", .bool(true)), .init("options", .object(options))]
      switch details.format {
      case .json: members.append(.init("format", .string("json")))
      case .schema(let schema, _): members.append(.init("format", schema))
      case nil: break
      }
      if !tools.isEmpty { members.append(.init("tools", .array(tools))) }
      switch details.thinking {
      case nil: break
      case .off: members.append(.init("think", .bool(false)))
      case .on: members.append(.init("think", .bool(true)))
      case .low, .medium, .high: members += details.thinking.map { [.init("think", .string($0.rawValue))] } ?? []
      }
      body = JSONValue.object(members).encoded
    }
  }

  /// Returns a message in the form of Ollama, which has its pictures before its text. One with pictures in other places
  /// becomes several, as Ollama does it with the messages of OpenAI.
  private static func messages(_ message: ChatMessage) -> [JSONValue] {
    var text = ""
    var images: [JSONValue] = []
    var messages: [JSONValue] = []
    for piece in message.pieces {
      switch piece {
      case .text(let piece): text = piece
      case .image(let image):
        if !text.isEmpty {
          messages.append(OllamaWire.message(ChatMessage(message.role, text), images))
          images = []
          text = ""
        }
        images.append(.string(image.base64))
      }
    }
    var last = message
    last.content = text
    return messages + [OllamaWire.message(last, images)]
  }

  private static func message(_ message: ChatMessage, _ images: [JSONValue]) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("role", .string(message.role.rawValue)), .init("content", .string(message.content)),
    ]
    if !images.isEmpty { members.append(.init("images", .array(images))) }
    if !message.toolCalls.isEmpty {
      let calls = message.toolCalls.map { call in
        let function = JSONValue.object([
          .init("name", .string(call.name)), .init("arguments", ToolArguments.object(call.arguments) ?? .object([])),
        ])
        return JSONValue.object([.init("id", .string(call.id)), .init("function", function)])
      }
      members.append(.init("tool_calls", .array(calls)))
    }
    if let name = message.toolName { members.append(.init("tool_name", .string(name))) }
    if let id = message.toolCallID { members.append(.init("tool_call_id", .string(id))) }
    return .object(members)
  }

  struct Line: Decodable {
    struct Message: Decodable {
      let content: String?
      let thinking: String?
      let tool_calls: [ToolCallPresence]?
    }
    /// A call, whose arguments are read in order from the line.
    struct ToolCallPresence: Decodable {}

    let response: String?
    let thinking: String?
    let message: Message?
    let done: Bool?
    let error: String?
  }

  struct ModelList: Decodable {
    struct Model: Decodable {
      struct Details: Decodable {
        /// The size for display: `494.03M`, `8.0B`, `1.1T`, or empty.
        let parameter_size: String?

        var billionsOfParameters: Double? {
          guard let text = parameter_size, let number = Double(text.dropLast()) else { return nil }
          switch text.last {
          case "K": return number / 1_000_000
          case "M": return number / 1000
          case "B": return number
          case "T": return number * 1000
          default: return nil
          }
        }
      }
      let name: String
      let details: Details?
    }
    let models: [Model]
  }

  struct Refusal: Decodable {
    let error: String
  }

  static func error(_ reply: RefusedReply, model: String) -> EngineError {
    let text = reply.message { (body: Refusal) in body.error }
    let hint =
      switch reply.status {
      case 404: "fetch the model: ollama pull \(model)"
      case 503: "the server is busy; try again later"
      case 500...: "look at the log of the Ollama server; the model may need more memory than is free"
      default: "check that this is a recent Ollama server"
      }
    let code: EngineError.Code =
      switch reply.status {
      case 404: .noModel
      case 429, 503: .busy
      default: EngineError.code(ofRefusal: text)
      }
    return EngineError(code, "the model server: \(text.excerpt)", hint: hint)
  }
}

/// Reads the NDJSON of `/api/generate` and `/api/chat`.
struct OllamaReplyDecoder: ReplyDecoder {
  private let json = JSONDecoder()
  private var hasCalls = false

  mutating func decode(line: String) throws -> ReplyStep {
    guard line.contains(where: { !$0.isWhitespace }) else { return .ignored }
    let decoded: OllamaWire.Line
    let counts: OllamaCounts?
    do {
      decoded = try json.decode(OllamaWire.Line.self, from: Data(line.utf8))
      counts = decoded.done == true ? try json.decode(OllamaCounts.self, from: Data(line.utf8)) : nil
    } catch {
      throw EngineError(.badReply, "the model server sent a line that is not Ollama's JSON", hint: "is the port right?")
    }
    if let error = decoded.error {
      throw EngineError(EngineError.code(ofRefusal: error), "the model server: \(error.excerpt)")
    }
    let text = decoded.message?.content ?? decoded.response ?? ""
    let calls = decoded.message?.tool_calls?.isEmpty == false ? try Self.calls(in: line) : []
    hasCalls = hasCalls || !calls.isEmpty
    let thinking = decoded.message?.thinking ?? decoded.thinking ?? ""
    guard let counts else {
      guard calls.isEmpty else { return .toolCalls(calls, after: text) }
      return thinking.isEmpty ? .text(text) : .thinking(thinking, then: text)
    }
    var completion = counts.completion
    // Ollama says `stop` for a reply that calls tools.
    if hasCalls, completion.reason == .stop { completion.reason = .toolCalls }
    return .finished(text, completion, calls, after: thinking)
  }

  /// Reads the calls of tools of a line.
  private static func calls(in line: String) throws -> [ToolCall] {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: Array(line.utf8))
    } catch {
      throw EngineError(.badReply, "the model server sent calls of tools that are \(error.description)")
    }
    return try (value["message"]?["tool_calls"]?.elements ?? []).map { call in
      guard let function = call["function"], let name = function["name"]?.text, !name.isEmpty else {
        throw EngineError(.badReply, "the model server sent a call of a tool without a name")
      }
      let arguments = function["arguments"] ?? .object([])
      return ToolCall(
        id: call["id"]?.text ?? ToolCall.newID(), name: name,
        arguments: arguments.text ?? String(decoding: arguments.encoded, as: UTF8.self))
    }
  }

  mutating func end() throws -> ReplyStep {
    throw EngineError.endedEarly
  }
}
