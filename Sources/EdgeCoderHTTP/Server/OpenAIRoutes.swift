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
      try body.common.check()
      try body.refuseUnsupported()
      let prompt = try PromptTemplate.render(body.messages)
      return try await answer(.chat, prompt: prompt, body.common, context)
    }
    router.post("/v1/completions") { request, context in
      let body = try await runner.decode(OpenAICompletionRequest.self, from: request)
      try body.common.check()
      let prompt = try body.checkedPrompt()
      return try await answer(.completion, prompt: prompt, body.common, context)
    }
  }

  private func answer(
    _ kind: OpenAIReply.Kind, prompt: String, _ common: OpenAICommonRequest, _ context: APIContext
  ) async throws -> Response {
    let asked = Prompt(text: prompt, maxTokens: try common.tokenLimit(), stops: try StopSequences.checked(common.stop))
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
        closing: { live in
          let usage = includesUsage ? OpenAIUsage(live.completion) : nil
          return [OpenAIReply(made, finish: live.completion.reason.rawValue)]
            + (usage.map { [OpenAIReply(made, usage: $0)] } ?? [])
        })
      return try await runner.stream(asked, for: context, as: format)
    }
    return .json(OpenAIReply(of: try await runner.run(asked, for: context)) { header($0) })
  }
}
