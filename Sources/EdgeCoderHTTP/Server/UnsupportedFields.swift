/// The fields of requests that ask for what a phone cannot do, which are refused and never dropped.
///
/// Clients look for the words `does not support tools` and `does not support thinking` of Ollama, and then go on without.
enum UnsupportedFields {
  /// The words of the features by the names of their fields.
  private static let features = [
    "tools": "tools", "functions": "tools", "think": "thinking", "images": "images", "suffix": "insert",
    "format": "structured outputs", "response_format": "structured outputs", "raw": "raw prompts",
    "template": "templates", "context": "the context of an earlier reply", "logprobs": "log probabilities",
    "top_logprobs": "log probabilities", "echo": "echo", "modalities": "audio", "audio": "audio",
  ]

  /// Checks that no field is set.
  /// - Throws: ``APIError`` 400 for the first one that is.
  static func refuse(_ fields: [(name: String, value: JSONPresence?)]) throws {
    guard let field = fields.first(where: { $0.value?.isSet == true }) else { return }
    throw error(field.name)
  }

  /// Returns the error of a field that is set.
  static func error(_ name: String) -> APIError {
    .badRequest(
      "\(HTTPAPI.modelName) does not support \(features[name] ?? name) (`\(name)`): phones accept and return plain text only"
    )
  }
}
