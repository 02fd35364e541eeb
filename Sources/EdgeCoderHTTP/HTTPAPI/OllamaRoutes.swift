internal import EdgeCoder
internal import HTTPTypes
internal import Hummingbird

/// What Ollama's clients ask for. A phone's `ok: false` is 502 here: these clients know no such field and would show the
/// reason as if it were the model's answer.
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
      return Response.json(OllamaShow())
    }
    // The model is offered whether or not a phone is near, so that a client can be set up before one is.
    router.get("/api/tags") { _, _ in Response.json(OllamaModelList(models: [OllamaModel()])) }
    router.get("/api/ps") { _, _ in
      let connected = await runner.service.status().connected
      return Response.json(OllamaModelList(models: connected ? [OllamaModel()] : []))
    }
    router.get("/api/version") { _, _ in Response.json(["version": OllamaVersion.claimed]) }
    for path in ["/api/tags", "/api/ps", "/api/version"] {
      router.head(RouterPath(path)) { _, _ in Response(status: .ok) }
    }
  }

  /// `POST /api/generate` with a model.
  func generate(_ body: GenerateRequest, _ context: APIContext) async throws -> Response {
    let model = body.model ?? HTTPAPI.modelName
    try ModelName.check(model)
    if (body.prompt ?? "").isEmpty, body.images?.isSet != true {
      let reason = body.keep_alive?.isZero == true ? "unload" : "load"
      return Response.json(
        GenerateReply(model: model, response: "", done: true, final: FinalFields(doneReason: reason)))
    }
    let prompt = try body.checkedPrompt()
    let (text, final, reply) = try await run(prompt, try body.tokenLimit(), stops: body.options?.stop, context)
    let pieces = ReplyText.pieces(text).map { GenerateReply(model: model, response: $0) }
    let last = GenerateReply(model: model, response: text, done: true, final: final).answered(by: reply)
    guard body.stream ?? true else { return .json(last) }
    return try .lines(pieces + [last.withoutText()])
  }

  private func chat(_ body: OllamaChatRequest, _ context: APIContext) async throws -> Response {
    let model = body.model ?? HTTPAPI.modelName
    try ModelName.check(model)
    if body.messages.isEmpty, body.model != nil {
      return Response.json(
        OllamaChatReply(model: model, content: "", done: true, final: FinalFields(doneReason: "load")))
    }
    try body.refuseUnsupported()
    let prompt = try PromptTemplate.render(body.messages)
    let limit = try TokenLimit.checked(body.maxTokens, name: "maxTokens") ?? body.options?.tokenLimit()
    let (text, final, _) = try await run(prompt, limit, stops: body.options?.stop, context)
    guard body.stream ?? true else {
      return .json(OllamaChatReply(model: model, content: text, done: true, final: final))
    }
    let pieces = ReplyText.pieces(text).map { OllamaChatReply(model: model, content: $0) }
    return try .lines(pieces + [OllamaChatReply(model: model, content: "", done: true, final: final)])
  }

  private func run(
    _ prompt: String, _ maxTokens: Int?, stops: StringOrList?, _ context: APIContext
  ) async throws -> (text: String, final: FinalFields, reply: InferenceReply) {
    let start = ContinuousClock.now
    let reply = try await runner.run(prompt: prompt, maxTokens: maxTokens, for: context)
    guard reply.ok else { throw APIError.phoneFailed(reply) }
    let text = ReplyText.cut(reply.output, atFirstOf: stops?.values ?? [])
    return (text, FinalFields(prompt: prompt, text: text, wall: start.duration(to: .now), reply: reply), reply)
  }
}

/// The one model there is.
enum ModelName {
  /// - Throws: ``APIError`` 404, in the words that clients of both families know.
  static func check(_ name: String?) throws {
    guard let name, name != HTTPAPI.modelName, name != HTTPAPI.modelName + ":latest" else { return }
    throw APIError(
      .notFound, "model '\(name.excerpt)' not found; the phones answer as '\(HTTPAPI.modelName)'",
      code: "model_not_found")
  }
}
