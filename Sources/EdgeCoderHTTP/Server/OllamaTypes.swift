internal import EdgeCoder
internal import JSONValues

/// The bodies of Ollama's other routes; names are those of the protocol.
struct OllamaChatRequest: Decodable, Sendable {
  let model: String?
  let messages: [MessageBody]
  let stream: Bool?
  let maxTokens: Int?
  let options: OllamaOptions?
}

extension RequestBody<OllamaChatRequest> {
  /// Returns the prompt for a phone.
  /// - Throws: ``APIError`` 400 for a conversation that is not valid, or for an unsupported feature.
  func checkedPrompt() throws -> Prompt {
    try UnsupportedFields.refuse(UnsupportedFields.ollama, in: json)
    let limit = try TokenLimit.checked(fields.maxTokens, name: "maxTokens") ?? fields.options?.tokenLimit()
    var prompt = Prompt(
      messages: try MessageBody.messages(fields.messages, json["messages"]), maxTokens: limit,
      try OllamaOptions.details(of: json))
    prompt.request.details.format = try DetailFields.ollamaFormat(json)
    prompt.request.details.thinking = try DetailFields.thinking(json)
    prompt.request.details.tools = try DetailFields.tools(json)
    prompt.ignored = OllamaOptions.ignored(of: json, known: ["messages", "tools", "maxTokens"])
    return prompt
  }
}

struct OllamaChatReply: StreamedReply {
  struct Message: Encodable, Sendable {
    let role = "assistant"
    let content: String
    var thinking: String?
    var tool_calls: [Call]?
  }

  /// A call of a tool, whose arguments are an object here.
  struct Call: Encodable, Sendable {
    struct Function: Encodable, Sendable {
      let index: Int
      let name: String
      let arguments: JSONValue
    }
    let id: String
    let function: Function

    /// - Throws: ``APIError`` 502 if the arguments are not an object, which this family has no other form for.
    init(_ call: ToolCall, index: Int) throws {
      guard let arguments = ToolArguments.object(call.arguments) else {
        throw APIError(
          .badGateway, "the model called a tool with arguments that are not a JSON object", code: "phone_failed")
      }
      id = call.id
      function = Function(index: index, name: call.name, arguments: arguments)
    }
  }

  let model: String
  let created_at = Timestamp.now()
  let message: Message
  var done = false

  init(model: String, content: String, thinking: String? = nil) {
    self.model = model
    message = Message(content: content, thinking: thinking)
  }

  /// Creates a reply with calls of tools.
  /// - Parameter first: The position of the first call in the reply.
  init(model: String, content: String, thinking: String? = nil, calls: [ToolCall], first: Int = 0) throws {
    self.model = model
    var message = Message(content: content, thinking: thinking)
    let encoded = try calls.enumerated().map { try Call($1, index: first + $0) }
    if !encoded.isEmpty { message.tool_calls = encoded }
    self.message = message
  }
}

struct OllamaShowRequest: Decodable, Sendable {
  let model: String?
  /// The older name of `model`.
  let name: String?
}

/// The body of `/api/pull`.
struct OllamaPullRequest: Decodable, Sendable {
  let model: String?
  /// The older name of `model`.
  let name: String?
  let stream: Bool?
}

/// The version in `/api/version`: the Ollama API this server was written against.
///
/// Editors compare it with the version that they need: Visual Studio Code with 0.6.4, others with 0.14.
enum OllamaVersion {
  static let claimed = "0.14.2"
}

/// The description of a model on phones.
///
/// The size is unknown, hence 0. The time is fixed, so that a client that looks for changes finds none.
struct OllamaModel: Encodable, Sendable {
  let name = HTTPAPI.modelName + ":latest"
  let model = HTTPAPI.modelName + ":latest"
  let modified_at = "2026-01-01T00:00:00Z"
  let size = 0
  let digest = String(repeating: "0", count: 64)
  let details = OllamaDetails()
}

struct OllamaDetails: Encodable, Sendable {
  let parent_model = ""
  let format = "phone"
  let family = HTTPAPI.modelName
  let families = [HTTPAPI.modelName]
  let parameter_size = ""
  let quantization_level = ""
}

struct OllamaModelList: Encodable, Sendable {
  let models: [OllamaModel]
}

/// The model in `/api/ps`: it stays loaded, and where is not known.
struct OllamaLoadedModel: Encodable, Sendable {
  let name = HTTPAPI.modelName + ":latest"
  let model = HTTPAPI.modelName + ":latest"
  let size = 0
  let size_vram = 0
  let digest = String(repeating: "0", count: 64)
  let details = OllamaDetails()
  let expires_at = "2100-01-01T00:00:00Z"
  let context_length: Int

  init(contextLength: Int) { context_length = contextLength }
}

extension CentralStatus {
  /// A Boolean value that indicates whether a model is loaded: that of the best phone. Whether a model server has loaded
  /// its model is not known, and it answers in any case.
  var hasLoadedModel: Bool { route == .network || (connected && modelState == ModelState.ready.rawValue) }
}

extension CentralStatus {
  /// A Boolean value that indicates whether requests with tools have a way to a model, which then supports them or not.
  var takesDetails: Bool { route == .network || phones.contains { $0.linkTakesDetails == true } }
}

/// The values of `model_info`, which are texts and numbers.
enum OllamaModelInfo: Encodable, Sendable {
  case text(String)
  case number(Int)

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .text(let text): try container.encode(text)
    case .number(let number): try container.encode(number)
    }
  }
}

struct OllamaShow: Encodable, Sendable {
  let license = ""
  let modelfile = "# answered by phones over Bluetooth LE"
  let parameters = ""
  let template = "{{ .Prompt }}"
  let details = OllamaDetails()
  let model_info: [String: OllamaModelInfo]
  let capabilities: [String]
  let modified_at = "2026-01-01T00:00:00Z"

  /// - Parameter takesTools: A Boolean value that indicates whether requests with tools have a way to a model.
  init(contextLength: Int, takesTools: Bool) {
    capabilities = takesTools ? ["completion", "tools"] : ["completion"]
    let name = HTTPAPI.modelName
    model_info = [
      "general.architecture": .text(name), "general.basename": .text(name),
      "\(name).context_length": .number(contextLength),
    ]
  }
}
