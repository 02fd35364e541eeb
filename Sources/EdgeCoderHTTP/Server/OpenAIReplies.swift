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
    case whole(String, finish: String)
    case delta(String, isFirst: Bool)
    case finish(String)
    case usageOnly
  }

  private let header: Header
  private let content: Content
  private let usage: OpenAIUsage?

  /// Creates a whole reply.
  init(of live: LiveReply, _ header: (_ id: String) -> Header) {
    self.header = header(live.id)
    content = .whole(live.text, finish: live.completion.reason.rawValue)
    usage = OpenAIUsage(live.completion)
  }

  /// Creates a piece of a stream.
  init(_ header: Header, delta: String, isFirst: Bool = false) {
    self.header = header
    content = .delta(delta, isFirst: isFirst)
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
    case .whole(let text, let finish):
      return [
        isChat
          ? OpenAIChoice(message: .init(role: "assistant", content: text), finish_reason: finish)
          : OpenAIChoice(text: text, finish_reason: finish)
      ]
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

/// The token counts of a reply.
struct OpenAIUsage: Encodable, Sendable {
  let prompt_tokens: Int
  let completion_tokens: Int

  /// - Returns: `nil` unless the engine has reported both counts.
  init?(_ completion: Completion) {
    guard let prompt = completion.promptTokens, let reply = completion.replyTokens else { return nil }
    prompt_tokens = prompt
    completion_tokens = reply
  }

  private enum CodingKeys: CodingKey { case prompt_tokens, completion_tokens, total_tokens }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(prompt_tokens, forKey: .prompt_tokens)
    try container.encode(completion_tokens, forKey: .completion_tokens)
    try container.encode(prompt_tokens.addingReportingOverflow(completion_tokens).partialValue, forKey: .total_tokens)
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
