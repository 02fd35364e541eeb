internal import EdgeCoder
internal import FoundationEssentials

/// The messages between ``OpenAIEngine`` and its server; property names are those of the protocol.
enum OpenAIWire {
  /// A chunk of a stream, or a whole reply from a server that does not stream.
  struct Chunk: Decodable {
    struct Choice: Decodable {
      struct Message: Decodable {
        let content: String?
        /// The thinking of the model, as llama.cpp names it.
        let reasoning_content: String?
        /// The thinking of the model, as others name it.
        let reasoning: String?
        let tool_calls: [ToolCallPart]?

        var thinking: String { reasoning_content ?? reasoning ?? "" }
      }
      /// A part of a call of a tool: the first one has the name, and each one more of the arguments.
      struct ToolCallPart: Decodable {
        struct Function: Decodable {
          let name: String?
          let arguments: String?
        }
        let index: Int?
        let id: String?
        let function: Function?
      }
      let delta: Message?
      let message: Message?
      let text: String?
      let finish_reason: String?
    }
    struct Usage: Decodable {
      struct PromptDetails: Decodable {
        let cached_tokens: Int?
      }
      struct CompletionDetails: Decodable {
        let reasoning_tokens: Int?
      }
      let prompt_tokens: Int?
      let completion_tokens: Int?
      let prompt_tokens_details: PromptDetails?
      let completion_tokens_details: CompletionDetails?
    }
    /// The times that llama.cpp adds, in milliseconds, and the number of cached tokens.
    struct Timings: Decodable {
      let cache_n: Int?
      let prompt_ms: Double?
      let predicted_ms: Double?
    }
    let choices: [Choice]?
    let usage: Usage?
    let timings: Timings?
    let error: Failure?
  }

  struct ModelList: Decodable {
    struct Model: Decodable {
      let id: String
      let owned_by: String?
      let meta: Meta?
    }
    /// The additional fields of llama.cpp.
    struct Meta: Decodable {
      let n_params: Double?
    }
    let data: [Model]

    var isLlamaCpp: Bool { data.contains { $0.owned_by == "llamacpp" } }

    /// Returns `true` if the server runs `model`. llama.cpp has one model and accepts every name.
    func serves(_ model: String?) -> Bool {
      guard let model, !isLlamaCpp else { return !data.isEmpty }
      return data.contains { $0.id == model }
    }
  }

  /// `{"error": {"message": …}}`, `{"error": "…"}` or `{"message": …}`: servers differ.
  struct Failure: Decodable {
    let message: String

    private enum CodingKeys: CodingKey { case error, message, detail }

    init(from decoder: any Decoder) throws {
      do {
        message = try decoder.singleValueContainer().decode(String.self)
        return
      } catch is DecodingError {
        // Not a plain string: one of the object forms.
      }
      let container = try decoder.container(keyedBy: CodingKeys.self)
      if container.contains(.error) {
        message = try container.decode(Failure.self, forKey: .error).message
      } else {
        message = try container.decode(String.self, forKey: container.contains(.message) ? .message : .detail)
      }
    }
  }

  static func error(_ reply: RefusedReply) -> EngineError {
    let text = reply.message { (body: Failure) in body.message }
    if text.contains("jinja") {
      return EngineError(
        .unsupported, "the model server does not support tools: \(text.excerpt)",
        hint: "start llama.cpp with its option jinja")
    }
    let hint =
      switch reply.status {
      case 400, 413:
        "the prompt may be longer than the model's context: shorten it, or start the server with a larger one"
      case 401, 403: "use the API key of the server"
      case 404: "check the name of the model, and that the server offers /v1/chat/completions"
      case 429, 503: "the server is busy or loading its model; try again later"
      default: "look at the log of the server"
      }
    let code: EngineError.Code =
      switch reply.status {
      case 404: .noModel
      case 503 where text.lowercased().contains("loading"): .noModel
      case 429, 503: .busy
      case 413: .contextExceeded
      default: EngineError.code(ofRefusal: String(decoding: reply.body, as: UTF8.self))
      }
    return EngineError(code, "the model server: \(text.excerpt)", hint: hint)
  }
}
