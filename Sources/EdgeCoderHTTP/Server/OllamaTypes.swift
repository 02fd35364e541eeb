/// The bodies of Ollama's other routes; names are those of the protocol.
struct OllamaChatRequest: Decodable, Sendable {
  let model: String?
  let messages: [ChatMessage]
  let stream: Bool?
  let maxTokens: Int?
  let options: OllamaOptions?
  let tools: JSONPresence?
  let format: JSONPresence?
  let think: JSONPresence?

  func refuseUnsupported() throws {
    for (name, field) in [("tools", tools), ("format", format), ("think", think)] where field?.isSet == true {
      throw APIError.badRequest("`\(name)` is not supported: phones accept and return plain text only")
    }
  }
}

struct OllamaChatReply: StreamedReply {
  struct Message: Encodable, Sendable {
    let role = "assistant"
    let content: String
  }

  let model: String
  let created_at = Timestamp.now()
  let message: Message
  var done = false

  init(model: String, content: String) {
    self.model = model
    message = Message(content: content)
  }
}

struct OllamaShowRequest: Decodable, Sendable {
  let model: String?
  /// The older name of `model`.
  let name: String?
}

/// The version in `/api/version`: the Ollama API this server was written against. Clients compare it with the version that they need.
enum OllamaVersion {
  static let claimed = "0.5.0"
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

struct OllamaShow: Encodable, Sendable {
  let license = ""
  let modelfile = "# answered by phones over Bluetooth LE"
  let parameters = ""
  let template = "{{ .Prompt }}"
  let details = OllamaDetails()
  let model_info = ["general.architecture": HTTPAPI.modelName]
  let capabilities = ["completion"]
  let modified_at = "2026-01-01T00:00:00Z"
}
