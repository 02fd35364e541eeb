/// A message of a conversation: who said it, its text, and its pictures.
///
/// ```swift
/// let messages = [ChatMessage(.system, "Answer briefly."), ChatMessage(.user, "Why is the sky blue?")]
/// print(ChatMessage.prompt(for: messages))
/// ```
public struct ChatMessage: Sendable, Hashable {
  /// The speaker of a message.
  public enum Role: String, Sendable, Hashable, CaseIterable {
    /// The instructions for the model.
    case system
    /// The person or the program that asks.
    case user
    /// The model, with what it has said before.
    case assistant
    /// A tool that the model has called.
    case tool
  }

  /// The speaker of the message.
  public var role: Role
  /// The text of the message, which may be empty beside calls of tools.
  public var content: String
  /// The pictures in the message; each has its place in the text.
  public var images: [ChatImage] = []
  /// The calls of tools in a message of the model.
  public var toolCalls: [ToolCall] = []
  /// The identifier of the call that a message of a tool answers; `nil` if the client named none.
  public var toolCallID: String?
  /// The name of the tool of a message of a tool; `nil` if the client named none.
  public var toolName: String?

  /// Creates a message from its speaker and its text.
  public init(_ role: Role, _ content: String) {
    self.role = role
    self.content = content
  }
}

/// A call of a tool that a model asks for; the client runs the tool.
///
/// ```swift
/// let call = ToolCall(id: "call_1", name: "weather", arguments: #"{"city":"Paris"}"#)
/// print(call.name, call.arguments)
/// ```
public struct ToolCall: Sendable, Hashable {
  /// The identifier of the call, which the answer of the tool repeats.
  public var id: String
  /// The name of the tool.
  public var name: String
  /// The arguments as the model wrote them, a JSON object as a rule.
  public var arguments: String

  /// Creates a call from its fields.
  public init(id: String, name: String, arguments: String) {
    self.id = id
    self.name = name
    self.arguments = arguments
  }
}

// A phone without messages gets one text. The engine applies the chat template of the model, so the text is plain:
//
// - one user message alone: its text, unchanged;
// - system messages and one user message: the system text, an empty line, the user's text;
// - a longer conversation: the system text, then every message as `User: …`, `Assistant: …` or `Tool: …`, with an empty
//   line between two, and a last `Assistant:`.
extension ChatMessage {
  /// Returns a conversation as one prompt, for an engine or a connection that has no messages.
  public static func prompt(for messages: [ChatMessage]) -> String {
    let preamble = messages.filter { $0.role == .system }.map(\.content).joined(separator: "\n\n")
    let turns = messages.filter { $0.role != .system }
    guard let first = turns.first else { return preamble }
    if turns.count == 1, first.role == .user { return join(preamble, first.content) }
    let dialogue = turns.map { "\($0.label): \($0.line)" }.joined(separator: "\n\n")
    return join(preamble, dialogue) + "\n\nAssistant:"
  }

  /// Returns a prompt after a system text.
  static func join(_ system: String, _ prompt: String) -> String { system.isEmpty ? prompt : system + "\n\n" + prompt }

  private var label: String {
    switch role {
    case .system, .user: "User"
    case .assistant: "Assistant"
    case .tool: "Tool"
    }
  }

  /// The text, and the calls of tools as the model would write them.
  private var line: String {
    ([content] + toolCalls.map { "\($0.name)(\($0.arguments))" }).filter { !$0.isEmpty }.joined(separator: "\n")
  }
}
