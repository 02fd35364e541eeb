public import JSONValues

/// The fields of a request beside its prompt and its limit: messages with their pictures, options, the format of the
/// reply, and tools.
///
/// The JSON messages of the characteristics have no place for them; a v2 mux carries them to phones that accept them.
///
/// ```swift
/// var details = RequestDetails()
/// details.options.temperature = 0
/// details.format = .json
/// print(details.fields.count)  // 2
/// ```
public struct RequestDetails: Sendable, Hashable {
  /// The format that the text of a reply must have.
  public enum Format: Sendable, Hashable {
    /// One JSON value of any form.
    case json
    /// JSON that a JSON schema describes; `isStrict` is what OpenAI calls `strict`.
    case schema(JSONValue, isStrict: Bool = false)
  }

  /// The rule for the use of tools.
  public enum ToolChoice: Sendable, Hashable {
    /// The model decides whether it calls one.
    case auto
    /// No tool may be called.
    case none
    /// At least one tool must be called.
    case required
    /// The tool of this name must be called.
    case tool(String)
  }

  /// The thinking of a model before its text, for models that can.
  public enum Thinking: String, Sendable, Hashable, CaseIterable {
    /// The model does not think before its text.
    case off
    /// The model thinks as it does by itself.
    case on
    /// The model thinks a little.
    case low
    /// The model thinks as much as usual.
    case medium
    /// The model thinks a lot.
    case high
  }

  /// The conversation; empty for a prompt alone.
  public var messages: [ChatMessage] = []
  /// The options of the choice of tokens.
  public var options = GenerationOptions()
  /// The format of the text; `nil` for any text.
  public var format: Format?
  /// The tools as OpenAI and Ollama describe them: objects with `type` and `function`.
  public var tools: [JSONValue] = []
  /// The thinking of the model; `nil` leaves it to the engine.
  public var thinking: Thinking?
  /// The rule for the use of the tools. Default: the model decides.
  public var toolChoice = ToolChoice.auto

  /// Creates details, of which none has a value.
  public init() {}

  /// A Boolean value that indicates whether nothing is set.
  public var isEmpty: Bool { self == RequestDetails() }

  /// The fields that are set and change the reply. One user message alone is a prompt.
  public var fields: Set<RequestField> {
    var fields = options.fields
    if messages.count > 1 || messages.contains(where: { $0.role != .user }) { fields.insert(.messages) }
    switch format {
    case .json: fields.insert(.format)
    case .schema: fields.insert(.schema)
    case nil: break
    }
    if thinking != nil { fields.insert(.thinking) }
    if messages.contains(where: { !$0.images.isEmpty }) { fields.insert(.images) }
    guard !tools.isEmpty, toolChoice != .none else { return fields }
    fields.insert(.tools)
    if toolChoice != .auto { fields.insert(.toolChoice) }
    return fields
  }
}

/// A field of a request that an engine or a connection may not support.
public enum RequestField: String, Sendable, Hashable, CaseIterable {
  /// The roles of the messages; without them a conversation is one text.
  case messages
  /// The randomness of the choice.
  case temperature
  /// The share of the probability from which tokens are chosen.
  case topP = "top_p"
  /// The number of tokens from which one is chosen.
  case topK = "top_k"
  /// The smallest probability of a token.
  case minP = "min_p"
  /// The share of locally typical tokens.
  case typicalP = "typical_p"
  /// The factor on tokens that were used before.
  case repeatPenalty = "repeat_penalty"
  /// The number of tokens to which the repeat penalty applies.
  case repeatLastN = "repeat_last_n"
  /// The penalty on tokens that were used at all.
  case presencePenalty = "presence_penalty"
  /// The penalty on tokens by the number of their uses.
  case frequencyPenalty = "frequency_penalty"
  /// The start of the random numbers.
  case seed
  /// The context of the model.
  case contextLength = "num_ctx"
  /// The sequences before which the text ends.
  case stop
  /// A reply in JSON of any form.
  case format
  /// A reply in the JSON of a schema.
  case schema
  /// The tools that the model may call.
  case tools
  /// The rule for the use of tools.
  case toolChoice = "tool_choice"
  /// The thinking of the model.
  case thinking = "think"
  /// The pictures in the messages.
  case images

  /// A Boolean value that indicates whether a request with the field must be refused where it is not supported, because
  /// the reply would be of another kind.
  public var isRequired: Bool { [.format, .schema, .tools, .toolChoice, .thinking, .images].contains(self) }

  /// The words for the field in a refusal, which clients look for: `tools`, `structured outputs` …
  package var feature: String {
    switch self {
    case .format, .schema: "structured outputs"
    case .toolChoice: "a choice of tools"
    case .thinking: "thinking"
    default: rawValue
    }
  }

  /// The fields that are options of ``GenerationOptions``.
  public static var options: Set<RequestField> {
    Set(allCases).subtracting([.messages, .format, .schema, .tools, .toolChoice, .thinking, .images])
  }
}

extension Set<RequestField> {
  /// The fields of a request that are not in the set and may be left out, in the order of their names.
  func ignored(of request: RequestDetails) -> [RequestField] {
    request.fields.subtracting(self).filter { !$0.isRequired }.sorted { $0.rawValue < $1.rawValue }
  }

  /// The words for what a request needs and the set lacks, for example `does not support tools`; `nil` for nothing.
  func refusal(of request: RequestDetails) -> String? {
    var missing = request.fields.subtracting(self).filter(\.isRequired)
    // Where no model thinks there is nothing to switch off.
    if request.thinking == .off { missing.remove(.thinking) }
    // Tools before their choice, which is a part of them.
    return [RequestField.tools, .toolChoice, .schema, .format, .thinking, .images].first(where: missing.contains).map {
      "does not support \($0.feature) (`\($0.rawValue)`)"
    }
  }
}
