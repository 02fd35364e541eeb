internal import EdgeCoder
internal import HTTPTypes
internal import Hummingbird

/// The two paths of the EdgeCoder proxy, `/status` and `/api/generate`.
///
/// `POST /api/generate` is shared with Ollama: a body with a model comes from an Ollama client, one without from an
/// EdgeCoder client.
struct EdgeCoderRoutes: Sendable {
  let runner: PromptRunner

  func add(to router: APIRouter) {
    router.add(middleware: StatusRoute(service: runner.service))
    router.post("/api/generate") { request, context in
      let body = try await runner.decode(GenerateRequest.self, from: request)
      return body.model == nil
        ? try await generate(body, context) : try await OllamaRoutes(runner: runner).generate(body, context)
    }
    router.get("/") { _, _ in
      Response(
        status: .ok, headers: [.contentType: "text/plain; charset=utf-8"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: "EdgeBlue central is running\n")))
    }
    router.head("/") { _, _ in Response(status: .ok) }
  }

  /// Answers with the JSON object of the proxy on one line.
  ///
  /// The line is also a complete Ollama stream, so that an Ollama client that omits the model is served as well.
  private func generate(_ body: RequestBody<GenerateRequest>, _ context: APIContext) async throws -> Response {
    let start = ContinuousClock.now
    let prompt = try body.checkedPrompt()
    let model = HTTPAPI.modelName
    let isForm = body.json.set("form") != nil
    do {
      if body.stream == true {
        let format: StreamFormat = isForm ? .form(model: model) : .generate(model: model)
        return try await runner.stream(
          prompt, for: context, as: body.progress == true ? format.withProgress(model: model) : format)
      }
      let live = try await runner.run(prompt, for: context)
      return .json(try GenerateReply.whole(model: model, of: live, isForm: isForm)).naming(ignored: live.ignored)
    } catch let error as APIError {
      guard let failed = error.reply else { throw error }
      let line = GenerateReply(model: model, response: failed.answer.output).answered(by: failed)
      return .json(line.closing(with: FinalFields(Completion(.stop), wall: start.duration(to: .now))))
    }
  }
}
