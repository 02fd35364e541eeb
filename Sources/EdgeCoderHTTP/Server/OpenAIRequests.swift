internal import EdgeCoder

/// The fields that both OpenAI routes share; names are those of the protocol.
///
/// Parameters that have no effect are named in a header of the reply. Those that change its meaning are refused.
struct OpenAICommonRequest: Decodable, Sendable {
  struct StreamOptions: Decodable, Sendable {
    let include_usage: Bool?
  }

  let model: String?
  let max_tokens: Int?
  let max_completion_tokens: Int?
  let maxTokens: Int?
  let stream: Bool?
  let stream_options: StreamOptions?
  let n: Int?
  let best_of: Int?

  func check() throws {
    try ModelName.check(model)
    guard (n ?? 1) == 1, (best_of ?? 1) == 1 else {
      throw APIError.badRequest("`n` and `best_of` must be 1: a phone returns one reply")
    }
  }

  /// The fields that both routes know, or that do not concern the reply.
  static let known: Set<String> = Set(RequestField.options.map(\.rawValue)).union([
    "model", "max_tokens", "max_completion_tokens", "maxTokens", "stream", "stream_options", "n", "best_of", "user",
    "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
  ])

  func tokenLimit() throws -> Int? {
    try TokenLimit.checked(max_completion_tokens, name: "max_completion_tokens")
      ?? TokenLimit.checked(max_tokens, name: "max_tokens") ?? TokenLimit.checked(maxTokens, name: "maxTokens")
  }
}

/// The body of `/v1/chat/completions`.
struct OpenAIChatRequest: Decodable, Sendable {
  let messages: [MessageBody]
  let modalities: [String]?
  let common: OpenAICommonRequest

  private enum CodingKeys: CodingKey { case messages, modalities }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    messages = try container.decode([MessageBody].self, forKey: .messages)
    modalities = try container.decodeIfPresent([String].self, forKey: .modalities)
    common = try OpenAICommonRequest(from: decoder)
  }
}

extension RequestBody<OpenAIChatRequest> {
  /// Returns the prompt for a phone.
  /// - Throws: ``APIError`` 400 for a conversation that is not valid, or for an unsupported feature.
  func checkedPrompt() throws -> Prompt {
    try fields.common.check()
    try UnsupportedFields.refuse(UnsupportedFields.chat, in: json)
    if fields.modalities?.contains(where: { $0 != "text" }) == true { throw UnsupportedFields.error("modalities") }
    var prompt = Prompt(
      messages: try MessageBody.messages(fields.messages, json["messages"]),
      maxTokens: try fields.common.tokenLimit(), try DetailFields.options(among: json))
    prompt.request.details.format = try DetailFields.openAIFormat(json)
    prompt.request.details.tools = try DetailFields.tools(json)
    prompt.request.details.toolChoice = try DetailFields.toolChoice(json)
    let known: Set = ["messages", "modalities", "tools", "tool_choice", "response_format", "parallel_tool_calls"]
    prompt.ignored = DetailFields.unknown(
      in: json, known: OpenAICommonRequest.known.union(known).union(UnsupportedFields.chat))
    // The default is true, so here it is the value false that asks for something.
    if json["parallel_tool_calls"] == .bool(false), !prompt.request.details.tools.isEmpty {
      prompt.ignored.append("parallel_tool_calls")
    }
    return prompt
  }
}

/// The body of `/v1/completions`.
struct OpenAICompletionRequest: Decodable, Sendable {
  let common: OpenAICommonRequest
  let prompt: StringOrList

  private enum CodingKeys: CodingKey { case prompt }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    prompt = try container.decode(StringOrList.self, forKey: .prompt)
    common = try OpenAICommonRequest(from: decoder)
  }
}

extension RequestBody<OpenAICompletionRequest> {
  /// Returns the prompt for a phone.
  /// - Throws: ``APIError`` 400 for a prompt that is not one text, or for an unsupported feature.
  func checkedPrompt() throws -> Prompt {
    try fields.common.check()
    try UnsupportedFields.refuse(UnsupportedFields.completions, in: json)
    guard fields.prompt.values.count == 1, let text = fields.prompt.values.first, !text.isEmpty else {
      throw APIError.badRequest("`prompt` must be one text that is not empty")
    }
    var prompt = Prompt(
      text: text, maxTokens: try fields.common.tokenLimit(), try DetailFields.options(among: json))
    prompt.ignored = DetailFields.unknown(
      in: json, known: OpenAICommonRequest.known.union(["prompt"]).union(UnsupportedFields.completions))
    return prompt
  }
}
