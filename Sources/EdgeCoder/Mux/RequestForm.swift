package import JSONValues

/// The JSON form of a request on a v2 mux, and between a central and its clients; `docs/v2-mux.md` has the members.
package enum RequestForm {
  /// The version of the form. A member of a later version is refused like any other that is unknown.
  static let version = 1

  /// Returns a request as a form. The limit on tokens is not in it: OPEN has it.
  static func encoded(_ request: InferenceRequest) -> [UInt8] { value(of: request).encoded }

  /// Returns a request as the value of a form.
  package static func value(of request: InferenceRequest) -> JSONValue {
    let details = request.details
    var members: [JSONValue.Member] = [.init("version", .number(version))]
    if details.messages.isEmpty {
      members.append(.init("prompt", .string(request.prompt)))
    } else {
      members.append(.init("messages", .array(details.messages.map(\.form))))
    }
    let images = details.messages.enumerated().flatMap { index, message in message.images.map { $0.form(of: index) } }
    if !images.isEmpty { members.append(.init("images", .array(images))) }
    let options = details.options.members
    if !options.isEmpty { members.append(.init("options", .object(options))) }
    switch details.format {
    case .json: members.append(.init("format", .string("json")))
    case .schema(let schema, let isStrict):
      members.append(.init("format", schema))
      if isStrict { members.append(.init("strict", .bool(true))) }
    case nil: break
    }
    if !details.tools.isEmpty { members.append(.init("tools", .array(details.tools))) }
    switch details.toolChoice {
    case .auto: break
    case .none: members.append(.init("toolChoice", .string("none")))
    case .required: members.append(.init("toolChoice", .string("required")))
    case .tool(let name): members.append(.init("toolChoice", .object([.init("name", .string(name))])))
    }
    if let thinking = details.thinking { members.append(.init("thinking", .string(thinking.rawValue))) }
    return JSONValue.object(members)
  }

  /// Reads a request from a form.
  /// - Throws: ``InvalidRequest`` for a form that is no JSON object, lacks a field, or has one that is invalid or unknown:
  ///   what is not understood is not dropped.
  static func decode(_ bytes: [UInt8], maxTokens: Int?) throws(InvalidRequest) -> InferenceRequest {
    let form: JSONValue
    do {
      form = try JSONValue(parsing: bytes)
    } catch {
      throw InvalidRequest("form", "is \(error)")
    }
    return try request(of: form, maxTokens: maxTokens)
  }

  /// Returns the request of a form that is read already; see ``decode(_:maxTokens:)``.
  package static func request(of form: JSONValue, maxTokens: Int?) throws(InvalidRequest) -> InferenceRequest {
    let known: Set = [
      "version", "prompt", "messages", "images", "options", "format", "strict", "tools", "toolChoice", "thinking",
    ]
    guard let members = form.members else { throw InvalidRequest("form", "is no object") }
    guard form["version"]?.integer == version else {
      throw InvalidRequest("version", "is not \(version), the version that is supported")
    }
    if let unknown = members.first(where: { !known.contains($0.name) }) {
      throw InvalidRequest(String(unknown.name.prefix(32)), "is not supported")
    }
    var details = RequestDetails()
    details.messages = try messages(of: form)
    try addImages(of: form, to: &details.messages)
    if let options = form["options"] {
      if let unknown = options.members?.first(where: { RequestField(rawValue: $0.name).map(isOption) != true }) {
        throw InvalidRequest(String(unknown.name.prefix(32)), "is not supported")
      }
      guard options.members != nil else { throw InvalidRequest("options", "is no object") }
      details.options = try GenerationOptions(among: options)
    }
    details.format = try format(of: form)
    details.tools = try tools(of: form)
    details.toolChoice = try toolChoice(of: form)
    details.thinking = try thinking(of: form)
    let prompt = details.messages.isEmpty ? form["prompt"]?.text : ChatMessage.prompt(for: details.messages)
    guard let prompt else { throw InvalidRequest("prompt", "is missing") }
    var request = InferenceRequest(prompt: prompt, maxTokens: maxTokens)
    request.details = details
    return request
  }

  private static func isOption(_ field: RequestField) -> Bool { RequestField.options.contains(field) }

  private static func messages(of form: JSONValue) throws(InvalidRequest) -> [ChatMessage] {
    guard let value = form["messages"] else { return [] }
    guard let elements = value.elements, !elements.isEmpty else {
      throw InvalidRequest("messages", "is no list, or empty")
    }
    var messages: [ChatMessage] = []
    for element in elements { messages.append(try ChatMessage(form: element)) }
    return messages
  }

  /// Adds the pictures to their messages.
  ///
  /// They are a member of the form, because phones of before ignore what they do not know in a message.
  private static func addImages(of form: JSONValue, to messages: inout [ChatMessage]) throws(InvalidRequest) {
    guard let value = form["images"] else { return }
    guard let elements = value.elements else { throw InvalidRequest("images", "is no list") }
    for element in elements {
      guard let index = element["message"]?.integer, messages.indices.contains(index) else {
        throw InvalidRequest("images", "has one that belongs to no message")
      }
      let offset = element["offset"]?.integer ?? 0
      guard let image = element["data"]?.text.flatMap({ ChatImage(base64: $0, offset: offset) }) else {
        throw InvalidRequest("images", "has one that is not PNG, JPEG, WebP or GIF in base64")
      }
      messages[index].images.append(image)
    }
  }

  private static func format(of form: JSONValue) throws(InvalidRequest) -> RequestDetails.Format? {
    guard let value = form["format"] else { return nil }
    if value == .string("json") { return .json }
    guard value.members != nil else { throw InvalidRequest("format", "is neither `json` nor a schema") }
    return .schema(value, isStrict: form["strict"]?.isTrue ?? false)
  }

  private static func tools(of form: JSONValue) throws(InvalidRequest) -> [JSONValue] {
    guard let value = form["tools"] else { return [] }
    guard let tools = value.elements, tools.allSatisfy({ $0.members != nil }) else {
      throw InvalidRequest("tools", "is no list of objects")
    }
    return tools
  }

  private static func thinking(of form: JSONValue) throws(InvalidRequest) -> RequestDetails.Thinking? {
    guard let value = form["thinking"] else { return nil }
    guard let thinking = value.text.flatMap(RequestDetails.Thinking.init(rawValue:)) else {
      throw InvalidRequest("thinking", "is not off, on, low, medium or high")
    }
    return thinking
  }

  private static func toolChoice(of form: JSONValue) throws(InvalidRequest) -> RequestDetails.ToolChoice {
    guard let value = form["toolChoice"] else { return .auto }
    switch value.text {
    case "auto": return .auto
    case "none": return .none
    case "required": return .required
    default:
      guard let name = value["name"]?.text else { throw InvalidRequest("toolChoice", "is not valid") }
      return .tool(name)
    }
  }
}

extension ChatMessage {
  fileprivate var form: JSONValue {
    var members: [JSONValue.Member] = [.init("role", .string(role.rawValue)), .init("content", .string(content))]
    if !toolCalls.isEmpty { members.append(.init("toolCalls", .array(toolCalls.map(\.form)))) }
    if let toolCallID { members.append(.init("toolCallId", .string(toolCallID))) }
    if let toolName { members.append(.init("toolName", .string(toolName))) }
    return .object(members)
  }

  fileprivate init(form: JSONValue) throws(InvalidRequest) {
    guard let role = form["role"]?.text.flatMap(Role.init(rawValue:)), let content = form["content"]?.text else {
      throw InvalidRequest("messages", "has a message without a role or a content")
    }
    self.init(role, content)
    for call in form["toolCalls"]?.elements ?? [] {
      guard let call = ToolCall(form: call) else { throw InvalidRequest("toolCalls", "has a call that is not valid") }
      toolCalls.append(call)
    }
    toolCallID = form["toolCallId"]?.text
    toolName = form["toolName"]?.text
  }
}

extension ChatImage {
  fileprivate func form(of message: Int) -> JSONValue {
    var members: [JSONValue.Member] = [.init("message", .number(message))]
    if offset != 0 { members.append(.init("offset", .number(offset))) }
    members.append(.init("data", .string(base64)))
    return .object(members)
  }
}

extension ToolCall {
  package var form: JSONValue {
    .object([.init("id", .string(id)), .init("name", .string(name)), .init("arguments", .string(arguments))])
  }

  package init?(form: JSONValue) {
    guard let id = form["id"]?.text, let name = form["name"]?.text, let arguments = form["arguments"]?.text else {
      return nil
    }
    self.init(id: id, name: name, arguments: arguments)
  }
}

/// The reply to a form: each part is one JSON object on a line of its own.
extension ReplyPart {
  /// The part as a line, with its line feed; empty for ``waiting(ahead:)``, which PROGRESS carries.
  var line: [UInt8] {
    let member: JSONValue.Member? =
      switch self {
      case .ignored(let fields): .init("ignored", .array(fields.map { .string($0.rawValue) }))
      case .text(let text): .init("text", .string(text))
      case .thinking(let text): .init("thinking", .string(text))
      case .toolCall(let call): .init("toolCall", call.form)
      case .waiting: nil
      }
    guard let member else { return [] }
    return JSONValue.object([member]).encoded + [UInt8(ascii: "\n")]
  }

  /// Reads the parts on a line; members that are unknown are ignored, so that later versions can add some.
  /// - Returns: `nil` if the line is no JSON object, or has a member that is not valid.
  static func parts(ofLine line: [UInt8]) -> [ReplyPart]? {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: line)
    } catch {
      return nil
    }
    guard value.members != nil else { return nil }
    var parts: [ReplyPart] = []
    if let fields = value["ignored"] {
      guard let names = fields.elements?.map(\.text) else { return nil }
      // A phone of a later version may name fields that this side cannot have asked for.
      parts.append(.ignored(names.compactMap { $0.flatMap(RequestField.init(rawValue:)) }))
    }
    if let text = value["thinking"] {
      guard let text = text.text else { return nil }
      parts.append(.thinking(text))
    }
    if let text = value["text"] {
      guard let text = text.text else { return nil }
      parts.append(.text(text))
    }
    if let call = value["toolCall"] {
      guard let call = ToolCall(form: call) else { return nil }
      parts.append(.toolCall(call))
    }
    return parts
  }
}

/// A splitter of the text of a reply into the parts of a reply to a form.
struct ReplyPartReader: Sendable {
  private var line: [UInt8] = []

  /// Reads the next bytes.
  /// - Returns: The parts of the lines that they complete; `nil` after a line that is not valid.
  mutating func read(_ bytes: [UInt8]) -> [ReplyPart]? {
    var parts: [ReplyPart] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      line += rest[..<end]
      rest = rest[(end + 1)...]
      guard let next = ReplyPart.parts(ofLine: line) else { return nil }
      parts += next
      line.removeAll(keepingCapacity: true)
    }
    line += rest
    return parts
  }

  /// The number of bytes of a line that is not complete.
  var unread: Int { line.count }
}
