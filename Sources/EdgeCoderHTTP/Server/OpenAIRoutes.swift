internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird

/// The routes for OpenAI clients; a refusal of a phone is 502 here.
struct OpenAIRoutes: Sendable {
  let runner: PromptRunner

  func add(to router: APIRouter) {
    router.get("/v1/models") { _, _ in Response.json(OpenAIModelList(data: [OpenAIModel()])) }
    router.get("/v1/models/:model") { _, context in
      try ModelName.check(context.parameters.get("model"))
      return Response.json(OpenAIModel())
    }
    router.head("/v1/models") { _, _ in Response(status: .ok) }
    router.head("/v1/models/:model") { _, context in
      try ModelName.check(context.parameters.get("model"))
      return Response(status: .ok)
    }
    router.post("/v1/chat/completions") { request, context in
      let body = try await runner.decode(OpenAIChatRequest.self, from: request)
      return try await answer(.chat, try body.checkedPrompt(), body.common, context)
    }
    router.post("/v1/completions") { request, context in
      let body = try await runner.decode(OpenAICompletionRequest.self, from: request)
      return try await answer(.completion, try body.checkedPrompt(), body.common, context)
    }
  }

  private func answer(
    _ kind: OpenAIReply.Kind, _ asked: Prompt, _ common: OpenAICommonRequest, _ context: APIContext
  ) async throws -> Response {
    func header(_ id: String) -> OpenAIReply.Header {
      OpenAIReply.Header(
        id: kind.idPrefix + id, created: Int(Date().timeIntervalSince1970), model: common.model ?? HTTPAPI.modelName,
        kind: kind)
    }
    if common.stream == true {
      // The first chunk contains the identifier, long before the reply of the phone does.
      let made = header(UUID().uuidString)
      let includesUsage = common.stream_options?.include_usage == true
      let format = StreamFormat(
        family: .openAI, framing: .events, opening: [OpenAIReply(made, delta: "", isFirst: true)],
        piece: { OpenAIReply(made, delta: $0) },
        // A completion has no place for it.
        thinking: { kind == .chat ? OpenAIReply(made, thinking: $0) : nil },
        toolCall: { OpenAIReply(made, call: $0, index: $1) },
        closing: { live in
          let usage = includesUsage ? OpenAIUsage(live.completion) : nil
          return [OpenAIReply(made, finish: live.finishReason)]
            + (usage.map { [OpenAIReply(made, usage: $0)] } ?? [])
        })
      return try await runner.stream(asked, for: context, as: format)
    }
    let live = try await runner.run(asked, for: context)
    return .json(OpenAIReply(of: live) { header($0) }).naming(ignored: live.ignored)
  }
}
