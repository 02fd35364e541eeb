internal import EdgeCoder

/// A whole reply or one chunk of a stream, of either OpenAI route; names are those of the protocol.
struct OpenAIReply: Encodable, Sendable {
  enum Kind: Sendable {
    case chat, completion

    var idPrefix: String { self == .chat ? "chatcmpl-" : "cmpl-" }
  }

  /// The fields that every chunk of one reply repeats.
  struct Header: Sendable {
    let id: String
    let created: Int
    let model: String
    let kind: Kind
  }

  private enum Content: Sendable {
    case whole(String, thinking: String, calls: [ToolCall], finish: String)
    case thinking(String)
    case delta(String, isFirst: Bool)
    case call(ToolCall, index: Int)
    case finish(String)
    case usageOnly
  }

  private let header: Header
  private let content: Content
  private let usage: OpenAIUsage?

  /// Creates a whole reply.
  init(of live: LiveReply, _ header: (_ id: String) -> Header) {
    self.header = header(live.id)
    content = .whole(live.text, thinking: live.thinking, calls: live.toolCalls, finish: live.finishReason)
    usage = OpenAIUsage(live.completion)
  }

  /// Creates a piece of a stream.
  init(_ header: Header, delta: String, isFirst: Bool = false) {
    self.header = header
    content = .delta(delta, isFirst: isFirst)
    usage = nil
  }

  /// Creates a piece of the thinking of a stream.
  init(_ header: Header, thinking: String) {
    self.header = header
    content = .thinking(thinking)
    usage = nil
  }

  /// Creates the chunk of a stream with a call of a tool.
  init(_ header: Header, call: ToolCall, index: Int) {
    self.header = header
    content = .call(call, index: index)
    usage = nil
  }

  /// Creates the chunk with the reason why the text ends.
  init(_ header: Header, finish: String) {
    self.header = header
    content = .finish(finish)
    usage = nil
  }

  /// Creates the chunk after the text that `stream_options.include_usage` requests.
  init(_ header: Header, usage: OpenAIUsage) {
    self.header = header
    content = .usageOnly
    self.usage = usage
  }

  private enum CodingKeys: CodingKey { case id, object, created, model, choices, usage }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(header.id, forKey: .id)
    try container.encode(object, forKey: .object)
    try container.encode(header.created, forKey: .created)
    try container.encode(header.model, forKey: .model)
    try container.encode(choices, forKey: .choices)
    try container.encodeIfPresent(usage, forKey: .usage)
  }

  private var object: String {
    guard header.kind == .chat else { return "text_completion" }
    if case .whole = content { return "chat.completion" }
    return "chat.completion.chunk"
  }

  private var choices: [OpenAIChoice] {
    let isChat = header.kind == .chat
    switch content {
    case .whole(let text, let thinking, let calls, let finish):
      guard isChat else { return [OpenAIChoice(text: text, finish_reason: finish)] }
      var message = OpenAIChoice.Message(role: "assistant", content: text, calls: calls)
      if !thinking.isEmpty { message.reasoning_content = thinking }
      return [OpenAIChoice(message: message, finish_reason: finish)]
    case .thinking(let text): return [OpenAIChoice(delta: .init(reasoning_content: text))]
    case .call(let call, let index):
      return [OpenAIChoice(delta: .init(tool_calls: [.init(call, index: index)]))]
    case .delta(let text, let isFirst):
      // The first delta only names the role; a completion has none, so it starts with the text.
      guard isChat else { return [OpenAIChoice(text: text)] }
      return [OpenAIChoice(delta: .init(role: isFirst ? "assistant" : nil, content: text))]
    case .finish(let reason):
      return [
        isChat ? OpenAIChoice(delta: .init(), finish_reason: reason) : OpenAIChoice(text: "", finish_reason: reason)
      ]
    case .usageOnly: return []
    }
  }
}

/// One entry of `choices`.
struct OpenAIChoice: Encodable, Sendable {
  struct Message: Encodable, Sendable {
    var role: String?
    var content: String?
    /// The thinking, as llama.cpp and others name it; OpenAI's own models keep it to themselves.
    var reasoning_content: String?
    var tool_calls: [OpenAIToolCall]?
  }

  var message: Message?
  var delta: Message?
  var text: String?
  var finish_reason: String?

  private enum CodingKeys: CodingKey { case index, message, delta, text, finish_reason, logprobs }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(0, forKey: .index)
    try container.encodeIfPresent(message, forKey: .message)
    try container.encodeIfPresent(delta, forKey: .delta)
    try container.encodeIfPresent(text, forKey: .text)
    // These two keys are present even when null, because strict clients require them.
    try container.encode(finish_reason, forKey: .finish_reason)
    try container.encodeNil(forKey: .logprobs)
  }
}

extension OpenAIChoice.Message {
  /// Creates a whole message; one that only calls tools has no content.
  init(role: String, content: String, calls: [ToolCall]) {
    self.role = role
    self.content = content.isEmpty && !calls.isEmpty ? nil : content
    tool_calls = calls.isEmpty ? nil : calls.map { OpenAIToolCall($0, index: nil) }
  }

  private enum CodingKeys: CodingKey { case role, content, reasoning_content, tool_calls }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(role, forKey: .role)
    // Strict clients look for the key in a whole message, also beside calls of tools.
    if content != nil || (role != nil && tool_calls != nil) { try container.encode(content, forKey: .content) }
    try container.encodeIfPresent(reasoning_content, forKey: .reasoning_content)
    try container.encodeIfPresent(tool_calls, forKey: .tool_calls)
  }
}

/// A call of a tool in a message, or in a chunk with its position.
struct OpenAIToolCall: Encodable, Sendable {
  struct Function: Encodable, Sendable {
    let name: String
    let arguments: String
  }

  let index: Int?
  let id: String
  let type = "function"
  let function: Function

  init(_ call: ToolCall, index: Int?) {
    self.index = index
    id = call.id
    function = Function(name: call.name, arguments: call.arguments)
  }
}

/// The token counts of a reply.
struct OpenAIUsage: Encodable, Sendable {
  let prompt_tokens: Int
  let completion_tokens: Int
  /// The cached and the reasoning tokens; `nil` if the engine did not report them.
  let cachedTokens: Int?
  let reasoningTokens: Int?
  var total_tokens: Int { prompt_tokens.addingReportingOverflow(completion_tokens).partialValue }

  /// - Returns: `nil` unless the engine has reported both counts.
  init?(_ completion: Completion) {
    guard let prompt = completion.promptTokens, let reply = completion.replyTokens else { return nil }
    prompt_tokens = prompt
    completion_tokens = reply
    cachedTokens = completion.cachedTokens
    reasoningTokens = completion.reasoningTokens
  }

  private enum CodingKeys: CodingKey {
    case prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details, completion_tokens_details
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(prompt_tokens, forKey: .prompt_tokens)
    try container.encode(completion_tokens, forKey: .completion_tokens)
    try container.encode(total_tokens, forKey: .total_tokens)
    try container.encodeIfPresent(cachedTokens.map { ["cached_tokens": $0] }, forKey: .prompt_tokens_details)
    try container.encodeIfPresent(
      reasoningTokens.map { ["reasoning_tokens": $0] }, forKey: .completion_tokens_details)
  }
}

/// The model in `/v1/models`.
struct OpenAIModel: Encodable, Sendable {
  let id = HTTPAPI.modelName
  let object = "model"
  let created = 1_767_225_600
  let owned_by = "edgeblue"
}

/// `/v1/models`.
struct OpenAIModelList: Encodable, Sendable {
  let object = "list"
  let data: [OpenAIModel]
}
