internal import JSONValues

/// The fields of requests that ask for what a phone cannot do, which are refused and never dropped.
///
/// Clients look for the words `does not support tools` and `does not support thinking` of Ollama, and then go on without.
enum UnsupportedFields {
  /// The fields of `/api/generate` and `/api/chat` that are refused.
  static let ollama = ["suffix", "raw", "template", "context", "logprobs", "top_logprobs"]
  /// The fields of `/v1/chat/completions` that are refused.
  static let chat = ["functions", "function_call", "logprobs", "top_logprobs", "audio"]
  /// The fields of `/v1/completions` that are refused.
  static let completions = ["suffix", "echo", "logprobs"]

  /// The words of the features by the names of their fields.
  private static let features = [
    "tools": "tools", "functions": "tools", "suffix": "insert", "function_call": "tools", "raw": "raw prompts",
    "template": "templates", "context": "the context of an earlier reply", "logprobs": "log probabilities",
    "top_logprobs": "log probabilities", "echo": "echo", "modalities": "audio", "audio": "audio",
  ]

  /// Checks that no field of a body is set.
  /// - Throws: ``APIError`` 400 for the first one that is.
  static func refuse(_ names: [String], in json: JSONValue) throws {
    if let name = names.first(where: { json.set($0) != nil }) { throw error(name) }
  }

  /// Returns the error of a field that is set.
  static func error(_ name: String) -> APIError {
    .badRequest(
      "\(HTTPAPI.modelName) does not support \(features[name] ?? name) (`\(name)`): phones return text"
    )
  }
}
