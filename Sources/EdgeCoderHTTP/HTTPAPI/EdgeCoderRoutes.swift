internal import EdgeCoder
internal import HTTPTypes
internal import Hummingbird

/// The two paths of the EdgeCoder proxy. `POST /api/generate` is shared with Ollama: a body that names a model comes
/// from an Ollama client, one that does not from an EdgeCoder client.
struct EdgeCoderRoutes: Sendable {
  let runner: PromptRunner

  func add(to router: APIRouter) {
    // `/status` answers to every method: see RouteFallback.
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

  /// The proxy's answer in one JSON object on one line. It is at once a complete Ollama stream of one line, so that an
  /// Ollama client that leaves the model out is served as well.
  private func generate(_ body: GenerateRequest, _ context: APIContext) async throws -> Response {
    let start = ContinuousClock.now
    let prompt = try body.checkedPrompt()
    func whole(_ reply: InferenceReply) -> Response {
      // Truncating a failure's reason at a stop sequence would hide it.
      let text = reply.ok ? ReplyText.cut(reply.output, atFirstOf: prompt.stops) : reply.output
      let final = FinalFields(prompt: prompt.text, text: text, wall: start.duration(to: .now), reply: reply)
      return .json(
        GenerateReply(model: HTTPAPI.modelName, response: text, done: true, final: final).answered(by: reply))
    }
    guard body.stream == true else { return whole(try await runner.run(prompt, for: context)) }
    do {
      return try await runner.stream(prompt, for: context, as: .generate(model: HTTPAPI.modelName))
    } catch let error as APIError {
      guard let failed = error.reply else { throw error }
      return whole(failed)
    }
  }
}
