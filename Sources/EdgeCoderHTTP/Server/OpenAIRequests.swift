/// The fields that both OpenAI routes share; names are those of the protocol.
///
/// Parameters that a phone does not support (temperature, seed, top_p …) are ignored, as in every compatible server.
/// Parameters that change the meaning of the reply are refused.
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
  let stop: StringOrList?
  let n: Int?
  let best_of: Int?

  func check() throws {
    try ModelName.check(model)
    guard (n ?? 1) == 1, (best_of ?? 1) == 1 else {
      throw APIError.badRequest("`n` and `best_of` must be 1: a phone returns one reply")
    }
  }

  func tokenLimit() throws -> Int? {
    try TokenLimit.checked(max_completion_tokens, name: "max_completion_tokens")
      ?? TokenLimit.checked(max_tokens, name: "max_tokens") ?? TokenLimit.checked(maxTokens, name: "maxTokens")
  }
}

/// The body of `/v1/chat/completions`.
struct OpenAIChatRequest: Decodable, Sendable {
  struct ResponseFormat: Decodable, Sendable {
    let type: String
  }

  let messages: [ChatMessage]
  let common: OpenAICommonRequest
  private let tools: JSONPresence?
  private let functions: JSONPresence?
  private let logprobs: JSONPresence?
  private let top_logprobs: JSONPresence?
  private let audio: JSONPresence?
  private let modalities: [String]?
  private let response_format: ResponseFormat?

  private enum CodingKeys: CodingKey {
    case messages, tools, functions, logprobs, top_logprobs, audio, modalities, response_format
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    messages = try container.decode([ChatMessage].self, forKey: .messages)
    tools = try container.decodeIfPresent(JSONPresence.self, forKey: .tools)
    functions = try container.decodeIfPresent(JSONPresence.self, forKey: .functions)
    logprobs = try container.decodeIfPresent(JSONPresence.self, forKey: .logprobs)
    top_logprobs = try container.decodeIfPresent(JSONPresence.self, forKey: .top_logprobs)
    audio = try container.decodeIfPresent(JSONPresence.self, forKey: .audio)
    modalities = try container.decodeIfPresent([String].self, forKey: .modalities)
    response_format = try container.decodeIfPresent(ResponseFormat.self, forKey: .response_format)
    common = try OpenAICommonRequest(from: decoder)
  }

  func refuseUnsupported() throws {
    try UnsupportedFields.refuse([
      ("tools", tools), ("functions", functions), ("logprobs", logprobs), ("top_logprobs", top_logprobs),
      ("audio", audio),
    ])
    if modalities?.contains(where: { $0 != "text" }) == true { throw UnsupportedFields.error("modalities") }
    if let type = response_format?.type, type != "text" { throw UnsupportedFields.error("response_format") }
  }
}

/// The body of `/v1/completions`.
struct OpenAICompletionRequest: Decodable, Sendable {
  let common: OpenAICommonRequest
  private let prompt: StringOrList
  private let suffix: JSONPresence?
  private let echo: JSONPresence?
  private let logprobs: JSONPresence?

  private enum CodingKeys: CodingKey { case prompt, suffix, echo, logprobs }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    prompt = try container.decode(StringOrList.self, forKey: .prompt)
    suffix = try container.decodeIfPresent(JSONPresence.self, forKey: .suffix)
    echo = try container.decodeIfPresent(JSONPresence.self, forKey: .echo)
    logprobs = try container.decodeIfPresent(JSONPresence.self, forKey: .logprobs)
    common = try OpenAICommonRequest(from: decoder)
  }

  func checkedPrompt() throws -> String {
    try UnsupportedFields.refuse([("suffix", suffix), ("echo", echo), ("logprobs", logprobs)])
    guard prompt.values.count == 1, let text = prompt.values.first, !text.isEmpty else {
      throw APIError.badRequest("`prompt` must be one text that is not empty")
    }
    return text
  }
}
