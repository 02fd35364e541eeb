internal import EdgeCoder

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The body of `POST /api/generate` from either family; names are those on the wire.
struct GenerateRequest: Decodable, Sendable {
  let model: String?
  let prompt: String?
  let system: String?
  let stream: Bool?
  /// EdgeCoder's token limit.
  let maxTokens: Int?
  let options: OllamaOptions?
  let images: JSONPresence?
  let suffix: JSONPresence?
  let format: JSONPresence?
  let think: JSONPresence?
  let keep_alive: JSONPresence?

  /// What to ask a phone.
  /// - Throws: ``APIError`` 400 when there is no prompt, or it asks for what a phone cannot do.
  func checkedPrompt() throws -> Prompt {
    guard let prompt, !prompt.isEmpty else { throw APIError.badRequest("`prompt` is missing or empty") }
    let unsupported = [("images", images), ("suffix", suffix), ("format", format), ("think", think)]
    for (name, field) in unsupported where field?.isSet == true {
      throw APIError.badRequest("`\(name)` is not supported: phones take and give plain text only")
    }
    return Prompt(
      text: PromptTemplate.join(system, prompt),
      maxTokens: try TokenLimit.checked(maxTokens, name: "maxTokens") ?? options?.tokenLimit(),
      stops: options?.stop?.values ?? [])
  }
}

/// Ollama's `options`. What a phone cannot be told (temperature, seed …) is passed over.
struct OllamaOptions: Decodable, Sendable {
  let num_predict: Int?
  let stop: StringOrList?

  /// Ollama's −1 (no limit) and −2 (fill the context) leave the phone's default.
  func tokenLimit() throws -> Int? {
    guard let limit = num_predict, limit > 0 else { return nil }
    return try TokenLimit.checked(limit, name: "options.num_predict")
  }
}

/// The range of token limits that travel to a phone.
enum TokenLimit {
  static let range = 1...1_000_000

  static func checked(_ value: Int?, name: String) throws -> Int? {
    guard let value else { return nil }
    guard range.contains(value) else {
      throw APIError.badRequest("`\(name)` must be from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}

/// A line of Ollama's `/api/generate`, with the EdgeCoder proxy's fields where they belong to the answer.
struct GenerateReply: Encodable, Sendable {
  let model: String
  var created_at = Timestamp.now()
  var response: String
  var done = false
  var final: FinalFields?

  var id: String?
  var output: String?
  var ok: Bool?
  var durationMs: Int?
  /// The phone that answered. The proxy never sent it, but its consumers look for it.
  var deviceName: String?

  init(model: String, response: String, done: Bool = false, final: FinalFields? = nil) {
    self.model = model
    self.response = response
    self.done = done
    self.final = final
  }

  /// Adds what only an EdgeCoder client knows.
  func answered(by reply: InferenceReply) -> GenerateReply {
    var copy = self
    copy.id = reply.id
    copy.output = response
    copy.ok = reply.ok
    copy.durationMs = reply.durationMs
    copy.deviceName = reply.phone
    return copy
  }

  /// The last line of a stream, whose text has already gone out.
  static func end(model: String, of live: LiveReply) -> GenerateReply {
    var last = GenerateReply(model: model, response: "", done: true, final: live.final)
    if let reply = live.reply { last = last.answered(by: reply) }
    last.ok = true
    last.output = nil
    return last
  }

  private enum CodingKeys: CodingKey {
    case model, created_at, response, done, id, output, ok, durationMs, deviceName
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(model, forKey: .model)
    try container.encode(created_at, forKey: .created_at)
    try container.encode(response, forKey: .response)
    try container.encode(done, forKey: .done)
    try container.encodeIfPresent(id, forKey: .id)
    try container.encodeIfPresent(output, forKey: .output)
    try container.encodeIfPresent(ok, forKey: .ok)
    try container.encodeIfPresent(durationMs, forKey: .durationMs)
    try container.encodeIfPresent(deviceName, forKey: .deviceName)
    try final?.encode(to: encoder)
  }
}

/// What Ollama adds to the last object of an answer; durations in nanoseconds, token counts estimated
/// (``ReplyText/estimatedTokens(_:)``).
struct FinalFields: Encodable, Sendable {
  let done_reason: String
  let total_duration: Int
  let load_duration = 0
  let prompt_eval_count: Int
  let prompt_eval_duration = 0
  let eval_count: Int
  let eval_duration: Int

  init(prompt: String, text: String, wall: Duration, reply: InferenceReply?) {
    done_reason = "stop"
    total_duration = wall.nanoseconds
    prompt_eval_count = ReplyText.estimatedTokens(prompt)
    eval_count = ReplyText.estimatedTokens(text)
    // Never 0: clients divide by it.
    eval_duration = max(1, reply?.durationMs ?? wall.milliseconds) * 1_000_000
  }

  /// The answer to an empty prompt, with which Ollama clients load (or drop) a model.
  init(doneReason: String) {
    done_reason = doneReason
    total_duration = 0
    prompt_eval_count = 0
    eval_count = 0
    eval_duration = 0
  }
}

/// Wall time as Ollama writes it: RFC 3339, UTC, with milliseconds.
enum Timestamp {
  static func now() -> String {
    Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}
