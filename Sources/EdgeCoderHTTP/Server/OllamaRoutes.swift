internal import HTTPTypes
internal import Hummingbird

/// The routes for Ollama clients.
///
/// A refusal of a phone is 502 here: these clients have no field for it and would show the reason as the reply.
struct OllamaRoutes: Sendable {
  let runner: PromptRunner

  func add(to router: APIRouter) {
    router.post("/api/chat") { request, context in
      try await chat(try await runner.decode(OllamaChatRequest.self, from: request), context)
    }
    router.post("/api/show") { request, _ in
      let body = try await runner.decode(OllamaShowRequest.self, from: request)
      guard let name = body.model ?? body.name else { throw APIError.badRequest("`model` is missing") }
      try ModelName.check(name)
      let takesTools = await runner.service.status().takesDetails
      return Response.json(OllamaShow(contextLength: runner.configuration.contextLength, takesTools: takesTools))
    }
    router.post("/api/pull") { request, _ in
      let body = try await runner.decode(OllamaPullRequest.self, from: request)
      guard let name = body.model ?? body.name else { throw APIError.badRequest("`model` is missing") }
      try ModelName.check(name)
      // The model is there, so the stream of its progress has only the end.
      var response = Response.json(["status": "success"])
      if body.stream ?? true { response.headers[.contentType] = "application/x-ndjson" }
      return response
    }
    // The model is offered also without a phone, so that a client can be configured before one is in range.
    router.get("/api/tags") { _, _ in Response.json(OllamaModelList(models: [OllamaModel()])) }
    router.get("/api/ps") { _, _ in
      let isLoaded = await runner.service.status().hasLoadedModel
      let loaded = OllamaLoadedModel(contextLength: runner.configuration.contextLength)
      return Response.json(["models": isLoaded ? [loaded] : []])
    }
    router.get("/api/version") { _, _ in Response.json(["version": OllamaVersion.claimed]) }
    for path in ["/api/tags", "/api/ps", "/api/version"] {
      router.head(RouterPath(path)) { _, _ in Response(status: .ok) }
    }
  }

  /// `POST /api/generate` with a model.
  func generate(_ body: RequestBody<GenerateRequest>, _ context: APIContext) async throws -> Response {
    let model = body.model ?? HTTPAPI.modelName
    try ModelName.check(model)
    if (body.prompt ?? "").isEmpty, body.json.set("images") == nil {
      let keepAlive = body.json["keep_alive"]
      let reason = keepAlive?.integer == 0 || keepAlive?.text == "0" ? "unload" : "load"
      return Response.json(
        GenerateReply(model: model, response: "").closing(with: FinalFields(doneReason: reason)))
    }
    let prompt = try body.checkedPrompt()
    if body.stream ?? true { return try await runner.stream(prompt, for: context, as: .generate(model: model)) }
    let live = try await runner.run(prompt, for: context)
    return .json(try GenerateReply.whole(model: model, of: live)).naming(ignored: live.ignored)
  }

  private func chat(_ body: RequestBody<OllamaChatRequest>, _ context: APIContext) async throws -> Response {
    let model = body.model ?? HTTPAPI.modelName
    try ModelName.check(model)
    if body.messages.isEmpty, body.model != nil {
      return Response.json(
        OllamaChatReply(model: model, content: "").closing(with: FinalFields(doneReason: "load")))
    }
    let prompt = try body.checkedPrompt()
    if body.stream ?? true { return try await runner.stream(prompt, for: context, as: .chat(model: model)) }
    let live = try await runner.run(prompt, for: context)
    let thinking = live.thinking.isEmpty ? nil : live.thinking
    let reply = try OllamaChatReply(model: model, content: live.text, thinking: thinking, calls: live.toolCalls)
    return .json(reply.closing(with: live.final)).naming(ignored: live.ignored)
  }
}

extension StreamFormat {
  /// The lines of `/api/generate`, for both of its families.
  static func generate(model: String) -> StreamFormat {
    StreamFormat(
      family: .generate, framing: .lines, piece: { GenerateReply(model: model, response: $0) },
      thinking: { GenerateReply(model: model, response: "", thinking: $0) },
      closing: { [GenerateReply.end(model: model, of: $0)] })
  }

  /// The lines of `/api/generate` for a form, which may ask for calls of tools.
  static func form(model: String) -> StreamFormat {
    var format = generate(model: model)
    format.toolCall = { call, _ in
      var line = GenerateReply(model: model, response: "")
      line.toolCalls = [call.form]
      return line
    }
    format.closing = { [GenerateReply.end(model: model, of: $0, isForm: true)] }
    return format
  }

  /// Returns the lines of `/api/generate` with those about the queue, and about what the engine ignores, which the phone
  /// says after the head of the response is sent.
  func withProgress(model: String) -> StreamFormat {
    var format = self
    format.progress = { part in
      var line = GenerateReply(model: model, response: "")
      switch part {
      case .waiting(let ahead): line.ahead = ahead
      case .ignored(let fields): line.ignored = fields.map(\.rawValue)
      case .text, .thinking, .toolCall: return nil
      }
      return line
    }
    return format
  }

  /// The lines of `/api/chat`.
  static func chat(model: String) -> StreamFormat {
    StreamFormat(
      family: .ollama, framing: .lines, piece: { OllamaChatReply(model: model, content: $0) },
      thinking: { OllamaChatReply(model: model, content: "", thinking: $0) },
      toolCall: { try OllamaChatReply(model: model, content: "", calls: [$0], first: $1) },
      closing: { [OllamaChatReply(model: model, content: "").closing(with: $0.final)] })
  }
}

/// The check of the name of the model.
enum ModelName {
  /// - Throws: ``APIError`` 404, with the message that clients of both families expect.
  static func check(_ name: String?) throws {
    guard let name, name != HTTPAPI.modelName, name != HTTPAPI.modelName + ":latest" else { return }
    throw APIError(
      .notFound, "model '\(name.excerpt)' not found; the phones answer as '\(HTTPAPI.modelName)'",
      code: "model_not_found")
  }
}
