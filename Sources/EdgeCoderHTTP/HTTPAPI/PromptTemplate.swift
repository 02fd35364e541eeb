/// Turns a conversation into the one prompt that goes to a phone.
///
/// The phone's engine applies the model's own chat template around it, so this stays plain text:
///
/// - one user message alone: its text, unchanged;
/// - system messages and one user message: the system text, an empty line, the user's text;
/// - a longer conversation: the system text, then every message as `User: …`, `Assistant: …` or `Tool: …`, with an empty
///   line between two, and a last `Assistant:`.
enum PromptTemplate {
  /// Renders the messages.
  /// - Throws: ``APIError`` 400 when there is nothing to answer.
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

  /// A system text before a prompt, as `/api/generate` has it.
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

  /// The message's text.
  /// - Throws: ``APIError`` 400 for anything that is not text.
  func text(at index: Int) throws -> String {
    guard images?.isSet != true else { throw APIError.badRequest("images are not supported: phones take text only") }
    return try parts.map { part in
      guard part.type == "text", let text = part.text else {
        throw APIError.badRequest("`messages[\(index)].content` holds a part that is not text")
      }
      return text
    }.joined()
  }
}

/// Whether a field asks for something, whatever its type: absent, null, false, "" and [] do not.
struct JSONPresence: Decodable, Sendable {
  let isSet: Bool
  /// Whether it is the number 0, as in Ollama's `"keep_alive": 0`.
  let isZero: Bool

  init(from decoder: any Decoder) throws {
    switch try Kind(from: decoder) {
    case .null: (isSet, isZero) = (false, false)
    case .list(let isEmpty): (isSet, isZero) = (!isEmpty, false)
    case .bool(let value): (isSet, isZero) = (value, false)
    case .number(let value): (isSet, isZero) = (true, value == 0)
    case .string(let value): (isSet, isZero) = (!value.isEmpty, value == "0")
    case .object: (isSet, isZero) = (true, false)
    }
  }

  private enum Kind: Decodable {
    case null, list(isEmpty: Bool), bool(Bool), number(Double), string(String), object

    /// JSON does not say what comes; a decoder only tells by failing.
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
