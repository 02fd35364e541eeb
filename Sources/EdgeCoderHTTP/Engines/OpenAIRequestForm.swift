internal import EdgeCoder
internal import JSONValues

/// One request in the form that an OpenAI-compatible server supports.
///
/// It is JSON in order, so that a schema arrives as the client wrote it.
struct OpenAIRequestForm {
  private enum Route { case chat, completions }

  /// The options that OpenAI does not have, and that llama.cpp and similar servers do.
  private static let extensions: Set<RequestField> = [.topK, .minP, .typicalP, .repeatPenalty, .repeatLastN]
  /// The number of stop sequences that OpenAI accepts; the HTTP server of the central ends the text at the others.
  private static let stopLimit = 4

  private let model: String?
  private let request: InferenceRequest
  private var route = Route.chat
  private var newTokenLimit = false
  private var asksForUsage = true
  private var sendsExtensions = true
  private var sendsThinking = true

  init(model: String?, _ request: InferenceRequest) {
    self.model = model
    self.request = request
  }

  var path: String { route == .chat ? "/v1/chat/completions" : "/v1/completions" }

  /// The fields that this form leaves out because the server has refused them.
  var ignored: [RequestField] {
    var ignored = sendsExtensions ? [] : request.details.options.fields.intersection(Self.extensions)
    if route == .completions { ignored.formUnion(request.details.fields.intersection([.messages])) }
    return ignored.sorted { $0.rawValue < $1.rawValue }
  }

  /// Returns the request to retry after a refusal of its form; `nil` after any other refusal.
  /// - Throws: ``EngineError`` `.unsupported` if the server has no route for what the request must have.
  func alternative(after refused: RefusedReply) throws(EngineError) -> OpenAIRequestForm? {
    let text = String(decoding: refused.body, as: UTF8.self).lowercased()
    let isAboutForm = refused.status == 400 || refused.status == 422
    var next = self
    switch refused.status {
    case _ where isAboutForm && asksForUsage && text.contains("stream_options"): next.asksForUsage = false
    case _ where isAboutForm && sendsExtensions && isAboutExtension(text): next.sendsExtensions = false
    case _ where isAboutForm && sendsThinking && isAboutThinking(text):
      guard request.details.thinking == .off else {
        throw EngineError(.unsupported, "the model server does not support thinking (`think`)")
      }
      next.sendsThinking = false
    case 404 where route == .chat && !text.contains("model"), 405 where route == .chat, 501 where route == .chat:
      if let field = request.details.fields.first(where: \.isRequired) {
        let feature = [.tools, .toolChoice].contains(field) ? "tools" : field.feature
        throw EngineError(
          .unsupported, "the model server does not support \(feature): it has no /v1/chat/completions",
          hint: "use a server that has the route")
      }
      next.route = .completions
    case 400 where route == .chat && !newTokenLimit && text.contains("max_completion_tokens"):
      // Newer models of OpenAI refuse `max_tokens`; older compatible servers support nothing else.
      next.newTokenLimit = true
    default:
      return nil
    }
    return next
  }

  private func isAboutExtension(_ text: String) -> Bool {
    request.details.options.fields.intersection(Self.extensions).contains { text.contains($0.rawValue) }
  }

  private func isAboutThinking(_ text: String) -> Bool {
    request.details.thinking != nil && ["chat_template_kwargs", "reasoning_effort"].contains { text.contains($0) }
  }

  /// The request as JSON.
  var body: [UInt8] {
    var members: [JSONValue.Member] = []
    if let model { members.append(.init("model", .string(model))) }
    members.append(.init("stream", .bool(true)))
    if asksForUsage {
      members.append(.init("stream_options", .object([.init("include_usage", .bool(true))])))
    }
    if let limit = request.maxTokens {
      members.append(.init(newTokenLimit ? "max_completion_tokens" : "max_tokens", .number(max(1, limit))))
    }
    members += options
    switch route {
    case .completions: members.append(.init("prompt", .string(request.prompt)))
    case .chat:
      members.append(.init("messages", .array(request.conversation.map(Self.message))))
      if let format { members.append(.init("response_format", format)) }
      members += thinking
      members += tools
    }
    return JSONValue.object(members).encoded
  }

  private var options: [JSONValue.Member] {
    var options = request.details.options.without(sendsExtensions ? [.contextLength] : Self.extensions)
    options.contextLength = nil
    if options.stop.count > Self.stopLimit { options.stop = Array(options.stop.prefix(Self.stopLimit)) }
    return options.members
  }

  /// The thinking: the effort as OpenAI names it, and the switch as the chat templates of llama.cpp and vLLM know it.
  private var thinking: [JSONValue.Member] {
    guard sendsThinking, let thinking = request.details.thinking else { return [] }
    switch thinking {
    case .off, .on:
      let isOn = JSONValue.Member("enable_thinking", .bool(thinking == .on))
      return [.init("chat_template_kwargs", .object([isOn]))]
    case .low, .medium, .high: return [.init("reasoning_effort", .string(thinking.rawValue))]
    }
  }

  private var format: JSONValue? {
    switch request.details.format {
    case nil: return nil
    case .json: return .object([.init("type", .string("json_object"))])
    case .schema(let schema, let isStrict):
      var described: [JSONValue.Member] = [.init("name", .string("reply")), .init("schema", schema)]
      if isStrict { described.append(.init("strict", .bool(true))) }
      return .object([.init("type", .string("json_schema")), .init("json_schema", .object(described))])
    }
  }

  private var tools: [JSONValue.Member] {
    let details = request.details
    var tools = details.tools
    guard !tools.isEmpty, details.toolChoice != .none else { return [] }
    var choice: String?
    switch details.toolChoice {
    case .auto, .none: break
    case .required: choice = "required"
    case .tool(let name):
      // Servers that know no names know the word, and one tool leaves no other choice.
      choice = "required"
      tools = tools.filter { $0["function"]?["name"]?.text == name }
    }
    var members: [JSONValue.Member] = [.init("tools", .array(tools))]
    if let choice { members.append(.init("tool_choice", .string(choice))) }
    return members
  }

  /// Returns the content of a message: its text, or a list of its pieces where it has pictures.
  private static func content(of message: ChatMessage) -> JSONValue {
    guard !message.images.isEmpty else { return .string(message.content) }
    return .array(
      message.pieces.map { piece in
        switch piece {
        case .text(let text): return .object([.init("type", .string("text")), .init("text", .string(text))])
        case .image(let image):
          let url = JSONValue.string("data:\(image.format.mediaType);base64,\(image.base64)")
          return .object([.init("type", .string("image_url")), .init("image_url", .object([.init("url", url)]))])
        }
      })
  }

  private static func message(_ message: ChatMessage) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("role", .string(message.role.rawValue)), .init("content", content(of: message)),
    ]
    if !message.toolCalls.isEmpty {
      let calls = message.toolCalls.map { call in
        JSONValue.object([
          .init("id", .string(call.id)), .init("type", .string("function")),
          .init(
            "function",
            .object([.init("name", .string(call.name)), .init("arguments", .string(call.arguments))])),
        ])
      }
      members.append(.init("tool_calls", .array(calls)))
    }
    if message.role == .tool {
      members.append(.init("tool_call_id", .string(message.toolCallID ?? message.toolName ?? "")))
    }
    if let name = message.toolName { members.append(.init("name", .string(name))) }
    return .object(members)
  }
}
