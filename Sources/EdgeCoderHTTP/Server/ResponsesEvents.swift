internal import EdgeCoder
internal import JSONValues

/// The state machine of the events of a streamed reply of `/v1/responses`.
struct ResponsesEvents: Sendable {
  private let reply: ResponsesReply
  /// Returns an identifier with a prefix.
  private let makeID: @Sendable (String) -> String
  private var number = 0
  private var output: [JSONValue] = []
  /// The message that grows; `nil` when none does.
  private var message: (id: String, text: String)?

  init(_ reply: ResponsesReply, makeID: @escaping @Sendable (String) -> String) {
    self.reply = reply
    self.makeID = makeID
  }

  /// Returns the events before the text.
  mutating func start() -> [JSONValue] {
    ["response.created", "response.in_progress"].map { event($0, [.init("response", reply.started())]) }
  }

  /// Returns the events of a piece of text.
  mutating func text(_ piece: String) -> [JSONValue] {
    var events: [JSONValue] = []
    if message == nil {
      let id = makeID("msg_")
      message = (id, "")
      events = [
        event("response.output_item.added", [.init("item", ResponsesReply.message(id: id, text: nil))], inItem: false),
        event("response.content_part.added", [.init("part", ResponsesReply.part(""))]),
      ]
    }
    message?.text += piece
    return events + [
      event("response.output_text.delta", [.init("delta", .string(piece)), .init("logprobs", .array([]))])
    ]
  }

  /// Returns the events of a call of a tool.
  mutating func call(_ call: ToolCall) -> [JSONValue] {
    var events = endMessage()
    let id = makeID("fc_")
    let item = JSONValue.Member("item_id", .string(id))
    let index = JSONValue.Member("output_index", .number(output.count))
    let whole = ResponsesReply.call(id: id, call)
    events += [
      event(
        "response.output_item.added", [index, .init("item", ResponsesReply.call(id: id, call, isComplete: false))]),
      event("response.function_call_arguments.delta", [item, index, .init("delta", .string(call.arguments))]),
      event(
        "response.function_call_arguments.done",
        [item, index, .init("name", .string(call.name)), .init("arguments", .string(call.arguments))]),
      event("response.output_item.done", [index, .init("item", whole)]),
    ]
    output.append(whole)
    return events
  }

  /// Returns the events of the end.
  mutating func end(_ completion: Completion) -> [JSONValue] {
    let events = endMessage()
    let whole = reply.ended(output, completion)
    return events + [event("response.\(whole["status"]?.text ?? "completed")", [.init("response", whole)])]
  }

  /// Returns the event of a failure, which ends the stream.
  mutating func failure(_ error: APIError) -> JSONValue {
    event(
      "error",
      [
        .init("code", error.code.map { .string($0) } ?? .null), .init("message", .string(error.message)),
        .init("param", .null),
      ])
  }

  private mutating func endMessage() -> [JSONValue] {
    guard let (id, text) = message else { return [] }
    let whole = ResponsesReply.message(id: id, text: text)
    let events = [
      event("response.output_text.done", [.init("text", .string(text)), .init("logprobs", .array([]))]),
      event("response.content_part.done", [.init("part", ResponsesReply.part(text))]),
      event("response.output_item.done", [.init("item", whole)], inItem: false),
    ]
    message = nil
    output.append(whole)
    return events
  }

  /// - Parameter inItem: A Boolean value that indicates whether the event belongs to the content of the message.
  private mutating func event(_ type: String, _ members: [JSONValue.Member], inItem: Bool = true) -> JSONValue {
    defer { number += 1 }
    var all: [JSONValue.Member] = [.init("type", .string(type)), .init("sequence_number", .number(number))]
    if let message, !members.contains(where: { $0.name == "output_index" || $0.name == "response" }), type != "error" {
      all.append(.init("output_index", .number(output.count)))
      if inItem { all += [.init("item_id", .string(message.id)), .init("content_index", .number(0))] }
    }
    return .object(all + members)
  }
}
