internal import EdgeCoder
internal import JSONValues

/// The object of `/v1/responses`: what was asked, and the output so far.
struct ResponsesReply: Sendable {
  let id: String
  let created: Int
  /// The body of the request, whose fields the reply repeats.
  let asked: JSONValue

  /// Returns the object before the end of the reply.
  func started() -> JSONValue { object(status: "in_progress", output: [], reason: nil, usage: .null) }

  /// Returns the object of a whole reply.
  func ended(_ output: [JSONValue], _ completion: Completion) -> JSONValue {
    let reason: String? =
      switch completion.reason {
      case .length: "max_output_tokens"
      case .contentFilter: "content_filter"
      default: nil
      }
    return object(
      status: reason == nil ? "completed" : "incomplete", output: output, reason: reason, usage: usage(completion))
  }

  private func object(status: String, output: [JSONValue], reason: String?, usage: JSONValue) -> JSONValue {
    func field(_ name: String, _ other: JSONValue = .null) -> JSONValue.Member { .init(name, asked[name] ?? other) }
    let format = JSONValue.object([.init("format", .object([.init("type", .string("text"))]))])
    return .object([
      .init("id", .string(id)), .init("object", .string("response")), .init("created_at", .number(created)),
      .init("status", .string(status)), .init("error", .null),
      .init("incomplete_details", reason.map { .object([.init("reason", .string($0))]) } ?? .null),
      field("instructions"), field("max_output_tokens"), field("model", .string(HTTPAPI.modelName)),
      .init("output", .array(output)), field("parallel_tool_calls", .bool(true)),
      .init("previous_response_id", .null), .init("store", .bool(false)), field("temperature"), field("top_p"),
      field("text", format), field("tool_choice", .string("auto")), field("tools", .array([])),
      .init("truncation", .string("disabled")), .init("usage", usage), field("user"),
      field("metadata", .object([])),
    ])
  }

  /// The counts of the engine; `null` unless it has reported both.
  private func usage(_ completion: Completion) -> JSONValue {
    guard let usage = OpenAIUsage(completion) else { return .null }
    // Clients require the details; an engine that does not report them has none to speak of.
    return .object([
      .init("input_tokens", .number(usage.prompt_tokens)),
      .init("input_tokens_details", .object([.init("cached_tokens", .number(usage.cachedTokens ?? 0))])),
      .init("output_tokens", .number(usage.completion_tokens)),
      .init("output_tokens_details", .object([.init("reasoning_tokens", .number(usage.reasoningTokens ?? 0))])),
      .init("total_tokens", .number(usage.total_tokens)),
    ])
  }

  /// Returns a message of the output.
  static func message(id: String, text: String?) -> JSONValue {
    .object([
      .init("id", .string(id)), .init("type", .string("message")),
      .init("status", .string(text == nil ? "in_progress" : "completed")), .init("role", .string("assistant")),
      .init("content", .array(text.map { [part($0)] } ?? [])),
    ])
  }

  /// Returns the content of a message.
  static func part(_ text: String) -> JSONValue {
    .object([
      .init("type", .string("output_text")), .init("text", .string(text)), .init("annotations", .array([])),
      .init("logprobs", .array([])),
    ])
  }

  /// Returns a call of a tool; without arguments while it is in progress.
  static func call(id: String, _ call: ToolCall, isComplete: Bool = true) -> JSONValue {
    .object([
      .init("id", .string(id)), .init("type", .string("function_call")),
      .init("status", .string(isComplete ? "completed" : "in_progress")), .init("call_id", .string(call.id)),
      .init("name", .string(call.name)), .init("arguments", .string(isComplete ? call.arguments : "")),
    ])
  }
}
