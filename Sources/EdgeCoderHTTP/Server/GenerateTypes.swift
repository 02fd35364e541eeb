internal import EdgeCoder
internal import FoundationEssentials
internal import JSONValues
internal import Timing

/// The body of `POST /api/generate` from either family; names are those of the protocol.
struct GenerateRequest: Decodable, Sendable {
  let model: String?
  let prompt: String?
  let system: String?
  let stream: Bool?
  /// A Boolean value that indicates whether an EdgeCoder client takes lines about the queue before the text.
  let progress: Bool?
  /// The token limit of EdgeCoder.
  let maxTokens: Int?
  let options: OllamaOptions?
}

extension RequestBody<GenerateRequest> {
  /// Returns the prompt for a phone.
  /// - Throws: ``APIError`` 400 if the prompt is missing, or for an unsupported feature.
  func checkedPrompt() throws -> Prompt {
    if fields.model == nil, let form = json.set("form") { return try prompt(of: form) }
    let images = try RequestImages.ollama(json)
    let text = fields.prompt ?? ""
    guard !text.isEmpty || !images.isEmpty else { throw APIError.badRequest("`prompt` is missing or empty") }
    try UnsupportedFields.refuse(UnsupportedFields.ollama, in: json)
    let system = fields.system.flatMap { $0.isEmpty ? nil : $0 }
    let limit = try TokenLimit.checked(fields.maxTokens, name: "maxTokens") ?? fields.options?.tokenLimit()
    var message = ChatMessage(.user, text)
    message.images = images
    let messages = (system.map { [ChatMessage(.system, $0)] } ?? []) + [message]
    var prompt = Prompt(messages: messages, maxTokens: limit, try OllamaOptions.details(of: json))
    prompt.request.details.format = try DetailFields.ollamaFormat(json)
    prompt.request.details.thinking = try DetailFields.thinking(json)
    var known: Set = ["prompt", "system", "images", "maxTokens"]
    if fields.model == nil { known.insert("progress") }
    prompt.ignored = OllamaOptions.ignored(of: json, known: known)
    return prompt
  }
}

extension RequestBody<GenerateRequest> {
  /// Returns the prompt of a form, in which EdgeCoder clients send everything as a central sends it to a phone.
  /// - Throws: ``APIError`` 400 for a form that is not valid, or one beside a prompt.
  private func prompt(of form: JSONValue) throws -> Prompt {
    guard json.set("prompt") == nil else { throw APIError.badRequest("`prompt` and `form` exclude each other") }
    let limit = try TokenLimit.checked(fields.maxTokens, name: "maxTokens")
    do throws(InvalidRequest) {
      var prompt = Prompt(try RequestForm.request(of: form, maxTokens: limit))
      prompt.ignored = DetailFields.unknown(in: json, known: ["form", "maxTokens", "stream", "progress"])
      return prompt
    } catch {
      throw APIError.badRequest("`form`: \(error)")
    }
  }
}

/// The `options` of Ollama that are no details of a request.
struct OllamaOptions: Decodable, Sendable {
  let num_predict: Int?

  /// Returns the options of the choice of tokens in a body.
  static func details(of json: JSONValue) throws -> GenerationOptions {
    try DetailFields.options(among: json["options"] ?? .null, at: "options.")
  }

  /// Returns the names of the fields and options of a body that have no effect.
  ///
  /// `keep_alive` and the options of the host (`num_gpu`, `num_thread` …) concern the memory and the speed of a phone.
  static func ignored(of json: JSONValue, known: Set<String>) -> [String] {
    let options = Set(RequestField.options.map(\.rawValue)).union(["num_predict"])
    let shared: Set = ["model", "stream", "options", "format", "keep_alive", "think"]
    return DetailFields.unknown(in: json, known: known.union(shared).union(UnsupportedFields.ollama))
      + (json["options"].map { DetailFields.unknown(in: $0, known: options) } ?? [])
  }

  /// Returns the token limit; the values −1 (no limit) and −2 (fill the context) select the default of the engine.
  func tokenLimit() throws -> Int? {
    guard let limit = num_predict, limit > 0 else { return nil }
    return try TokenLimit.checked(limit, name: "options.num_predict")
  }
}

/// The range of token limits that are sent to a phone.
enum TokenLimit {
  static let range = 1...1_000_000

  static func checked(_ value: Int?, name: String) throws -> Int? {
    guard let value else { return nil }
    guard range.contains(value) else {
      throw APIError.badRequest("`\(name)` is \(value); allowed: \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}

/// A line of `/api/generate` of Ollama, with the fields of the EdgeCoder proxy in the last one.
struct GenerateReply: StreamedReply {
  let model: String
  var created_at = Timestamp.now()
  var response: String
  var thinking: String?
  /// The calls of tools in a reply to a form, for which Ollama has no field here.
  var toolCalls: [JSONValue]?
  /// The number of requests that the phone answers before this one.
  var ahead: Int?
  /// The fields that have no effect at the engine.
  var ignored: [String]?
  var done = false

  var id: String?
  var output: String?
  var ok: Bool?
  var durationMs: Int?
  /// The phone that answered; the proxy never sent this field, but its clients read it.
  var deviceName: String?

  init(model: String, response: String, thinking: String? = nil) {
    self.model = model
    self.response = response
    self.thinking = thinking
  }

  /// Returns the line with the fields that only EdgeCoder clients read.
  func answered(by reply: InferenceReply) -> GenerateReply {
    var copy = self
    copy.id = reply.id
    copy.output = response
    copy.ok = reply.answer.ok
    copy.durationMs = reply.durationMs
    copy.deviceName = reply.phone
    return copy
  }

  /// Returns the one line of a complete reply.
  /// - Throws: ``APIError`` 502 for a call of a tool, for which only the reply to a form has a field.
  static func whole(model: String, of live: LiveReply, isForm: Bool = false) throws -> ClosingReply<GenerateReply> {
    guard isForm || live.toolCalls.isEmpty else { throw APIError.unexpectedCall }
    var line = GenerateReply(model: model, response: live.text)
    if !live.toolCalls.isEmpty { line.toolCalls = live.toolCalls.map(\.form) }
    if !live.thinking.isEmpty { line.thinking = live.thinking }
    if let reply = live.reply { line = line.answered(by: reply) }
    line.id = live.id
    line.ok = true
    line.output = live.text
    return line.closing(with: isForm ? live.finalOfForm : live.final)
  }

  /// Returns the last line of a stream whose text was sent before.
  static func end(model: String, of live: LiveReply, isForm: Bool = false) -> ClosingReply<GenerateReply> {
    var last = GenerateReply(model: model, response: "")
    if let reply = live.reply { last = last.answered(by: reply) }
    last.ok = true
    last.output = nil
    return last.closing(with: isForm ? live.finalOfForm : live.final)
  }
}

/// A reply of the Ollama family, whole or a piece of a stream.
protocol StreamedReply: Encodable, Sendable {
  /// A Boolean value that indicates whether the reply is the last one of its stream.
  var done: Bool { get set }
}

extension StreamedReply {
  /// Returns the reply as the last one of its stream.
  func closing(with final: FinalFields) -> ClosingReply<Self> {
    var last = self
    last.done = true
    return ClosingReply(reply: last, final: final)
  }
}

/// The last reply of a stream: its own fields and the counts of the whole in one object.
struct ClosingReply<Reply: StreamedReply>: Encodable, Sendable {
  let reply: Reply
  let final: FinalFields

  func encode(to encoder: any Encoder) throws {
    try reply.encode(to: encoder)
    try final.encode(to: encoder)
  }
}

/// The fields that Ollama adds to the last object of a reply; durations in nanoseconds.
///
/// What the engine did not report is left out.
struct FinalFields: Encodable, Sendable {
  let done_reason: String
  let total_duration: Int
  private(set) var load_duration: Int?
  private(set) var prompt_eval_count: Int?
  private(set) var prompt_eval_duration: Int?
  private(set) var eval_count: Int?
  private(set) var eval_duration: Int?

  init(_ completion: Completion, wall: Duration) {
    done_reason = completion.reason.rawValue
    let total = Int(clamping: wall.wholeNanoseconds)
    total_duration = total
    // The engine has another clock, and no part of a time is longer than the whole.
    func part(_ time: Duration?) -> Int? { time.map { min(total, Int(clamping: $0.wholeNanoseconds)) } }
    load_duration = part(completion.loadTime)
    prompt_eval_count = completion.promptTokens
    prompt_eval_duration = part(completion.promptTime)
    eval_count = completion.replyTokens
    eval_duration = part(completion.replyTime)
  }

  /// Creates the fields for an empty prompt, with which Ollama clients load or unload a model.
  init(doneReason: String) {
    done_reason = doneReason
    total_duration = 0
  }
}

/// The wall-clock time in the format of Ollama: RFC 3339, UTC, with milliseconds.
enum Timestamp {
  static func now() -> String {
    Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}
