/// The conversion of a conversation into one prompt for a phone.
///
/// The engine of the phone applies the chat template of the model, so the prompt is plain text:
///
/// - one user message alone: its text, unchanged;
/// - system messages and one user message: the system text, an empty line, the user's text;
/// - a longer conversation: the system text, then every message as `User: …`, `Assistant: …` or `Tool: …`, with an empty
///   line between two, and a last `Assistant:`.
enum PromptTemplate {
  /// Returns the prompt for a conversation.
  /// - Throws: ``APIError`` 400 if the conversation is empty.
  static func render(_ messages: [ChatMessage]) throws -> String {
    guard !messages.isEmpty else { throw APIError.badRequest("`messages` is empty") }
    var system: [String] = []
    var turns: [(label: String, text: String)] = []
    for (index, message) in messages.enumerated() {
      let text = try message.text(at: index)
      switch message.role {
      case "system", "developer": system.append(text)
      case "user": turns.append(("User", text))
      case "assistant": turns.append(("Assistant", text))
      case "tool", "function": turns.append(("Tool", text))
      default:
        throw APIError.badRequest("`messages[\(index)].role` is not system, developer, user, assistant or tool")
      }
    }
    let preamble = system.joined(separator: "\n\n")
    if turns.isEmpty { return preamble }
    if turns.count == 1, turns[0].label == "User" { return join(preamble, turns[0].text) }
    let dialogue = turns.map { "\($0.label): \($0.text)" }.joined(separator: "\n\n")
    return join(preamble, dialogue) + "\n\nAssistant:"
  }

  /// Returns a prompt after a system text, as in `/api/generate`.
  static func join(_ system: String?, _ prompt: String) -> String {
    guard let system, !system.isEmpty else { return prompt }
    return system + "\n\n" + prompt
  }
}

/// One message of a conversation, as Ollama (`content` is text) or OpenAI (`content` is text or parts) sends it.
struct ChatMessage: Decodable, Sendable {
  private struct Part: Decodable {
    let type: String
    let text: String?
  }

  let role: String
  private let parts: [Part]
  private let images: JSONPresence?

  private enum CodingKeys: CodingKey { case role, content, images }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    role = try container.decode(String.self, forKey: .role)
    images = try container.decodeIfPresent(JSONPresence.self, forKey: .images)
    do {
      parts = try container.decodeIfPresent(String.self, forKey: .content).map { [Part(type: "text", text: $0)] } ?? []
    } catch is DecodingError {
      parts = try container.decode([Part].self, forKey: .content)
    }
  }

  /// Returns the text of the message.
  /// - Throws: ``APIError`` 400 for anything that is not text.
  func text(at index: Int) throws -> String {
    guard images?.isSet != true else { throw APIError.badRequest("images are not supported: phones accept text only") }
    return try parts.map { part in
      guard part.type == "text", let text = part.text else {
        throw APIError.badRequest("`messages[\(index)].content` contains a part that is not text")
      }
      return text
    }.joined()
  }
}

/// The presence of a field of any type: absent, null, false, "" and [] do not count.
struct JSONPresence: Decodable, Sendable {
  let isSet: Bool
  /// A Boolean value that indicates whether the field is the number 0, as in `"keep_alive": 0`.
  let isZero: Bool

  init(from decoder: any Decoder) throws {
    let kind = try Kind(from: decoder)
    isSet =
      switch kind {
      case .null: false
      case .list(let isEmpty): !isEmpty
      case .bool(let value): value
      case .number, .object: true
      case .string(let value): !value.isEmpty
      }
    isZero =
      switch kind {
      case .number(let value): value == 0
      case .string(let value): value == "0"
      case .null, .list, .bool, .object: false
      }
  }

  private enum Kind: Decodable {
    case null, list(isEmpty: Bool), bool(Bool), number(Double), string(String), object

    /// Tries one type after another, because a decoder does not report the type of a value.
    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
        return
      }
      func attempt<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        do { return try container.decode(type) } catch is DecodingError { return nil }
      }
      if let value = try attempt(Bool.self) {
        self = .bool(value)
      } else if let value = try attempt(Double.self) {
        self = .number(value)
      } else if let value = try attempt(String.self) {
        self = .string(value)
      } else {
        do {
          self = .list(isEmpty: try decoder.unkeyedContainer().isAtEnd)
        } catch is DecodingError {
          self = .object
        }
      }
    }
  }
}
