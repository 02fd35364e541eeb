package import JSONValues

/// The options that determine how a model chooses its tokens; `nil` selects the default of the engine.
///
/// The names on the wire are those of Ollama and llama.cpp.
///
/// ```swift
/// var options = GenerationOptions()
/// options.temperature = 0
/// options.seed = 7
/// print(options.fields.map(\.rawValue).sorted())  // ["seed", "temperature"]
/// ```
public struct GenerationOptions: Sendable, Hashable {
  /// The randomness of the choice, 0 or more; 0 chooses the most likely token.
  public var temperature: Double?
  /// The share of the probability from which tokens are chosen, 0 to 1.
  public var topP: Double?
  /// The smallest probability of a token, as a share of that of the most likely one, 0 to 1.
  public var minP: Double?
  /// The share of the probability of locally typical tokens, 0 to 1.
  public var typicalP: Double?
  /// The factor on the probability of tokens that were used before; 1 is none.
  public var repeatPenalty: Double?
  /// The penalty on tokens that were used at all, −2 to 2.
  public var presencePenalty: Double?
  /// The penalty on tokens by the number of their uses, −2 to 2.
  public var frequencyPenalty: Double?
  /// The number of the most likely tokens from which one is chosen.
  public var topK: Int?
  /// The number of last tokens to which the repeat penalty applies.
  public var repeatLastN: Int?
  /// The start of the random numbers; the same seed gives the same text.
  public var seed: Int?
  /// The context of the model in tokens, prompt and reply together.
  public var contextLength: Int?
  /// The sequences before which the text ends.
  public var stop: [String] = []

  /// Creates options, of which none has a value.
  public init() {}

  private static var numbers: [(RequestField, WritableKeyPath<Self, Double?>)] {
    [
      (.temperature, \.temperature), (.topP, \.topP), (.minP, \.minP), (.typicalP, \.typicalP),
      (.repeatPenalty, \.repeatPenalty), (.presencePenalty, \.presencePenalty),
      (.frequencyPenalty, \.frequencyPenalty),
    ]
  }

  private static var integers: [(RequestField, WritableKeyPath<Self, Int?>)] {
    [(.topK, \.topK), (.repeatLastN, \.repeatLastN), (.seed, \.seed), (.contextLength, \.contextLength)]
  }

  /// The options that have a value.
  public var fields: Set<RequestField> { Set(members.compactMap { RequestField(rawValue: $0.name) }) }

  /// The options that have a value, as members of a JSON object.
  package var members: [JSONValue.Member] {
    var members = Self.numbers.compactMap { field, path in
      self[keyPath: path].map { JSONValue.Member(field.rawValue, .number($0)) }
    }
    members += Self.integers.compactMap { field, path in
      self[keyPath: path].map { JSONValue.Member(field.rawValue, .number($0)) }
    }
    if !stop.isEmpty { members.append(.init(RequestField.stop.rawValue, .array(stop.map { .string($0) }))) }
    return members
  }

  /// Reads the options among the members of a JSON object; `null` is no value.
  /// - Throws: ``InvalidRequest`` for an option of the wrong type.
  package init(among object: JSONValue) throws(InvalidRequest) {
    for (field, path) in Self.numbers {
      guard let value = object[field.rawValue], value != .null else { continue }
      guard let number = value.double else { throw InvalidRequest(field.rawValue, "is not a number") }
      self[keyPath: path] = number
    }
    for (field, path) in Self.integers {
      guard let value = object[field.rawValue], value != .null else { continue }
      guard let number = value.integer else { throw InvalidRequest(field.rawValue, "is not a whole number") }
      self[keyPath: path] = number
    }
    guard let value = object[RequestField.stop.rawValue], value != .null else { return }
    let texts = value.text.map { [$0] } ?? value.elements?.compactMap(\.text)
    guard let texts, texts.count == value.elements?.count ?? 1 else {
      throw InvalidRequest(RequestField.stop.rawValue, "is not a string or a list of strings")
    }
    stop = texts
  }

  /// Returns a copy without some options.
  package func without(_ fields: Set<RequestField>) -> GenerationOptions {
    var copy = self
    for (field, path) in Self.numbers where fields.contains(field) { copy[keyPath: path] = nil }
    for (field, path) in Self.integers where fields.contains(field) { copy[keyPath: path] = nil }
    if fields.contains(.stop) { copy.stop = [] }
    return copy
  }
}

/// A field of a request that is invalid, with the reason, and without its value.
package struct InvalidRequest: Error, Sendable, Hashable, CustomStringConvertible {
  package let field: String
  package let reason: String

  package init(_ field: String, _ reason: String) {
    self.field = field
    self.reason = reason
  }

  package var description: String { "`\(field)` \(reason)" }
}
