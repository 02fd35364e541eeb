internal import EdgeCoder
internal import HTTPTypes
internal import Hummingbird

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What OpenAI's clients ask for. A phone's `ok: false` is 502 here.
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
    let reply = try await runner.run(prompt: prompt, maxTokens: try common.tokenLimit(), for: context)
    guard reply.ok else { throw APIError.phoneFailed(reply) }
    let text = ReplyText.cut(reply.output, atFirstOf: common.stop?.values ?? [])
    let made = OpenAIReply.Header(
      id: kind.idPrefix + reply.id, created: Int(Date().timeIntervalSince1970),
      model: common.model ?? HTTPAPI.modelName, kind: kind)
    let usage = OpenAIUsage(
      prompt_tokens: ReplyText.estimatedTokens(prompt), completion_tokens: ReplyText.estimatedTokens(text))
    guard common.stream == true else {
      return .json(OpenAIReply(made, content: text, usage: usage))
    }
    var chunks = [OpenAIReply(made, delta: "", isFirst: true)]
    chunks += ReplyText.pieces(text).map { OpenAIReply(made, delta: $0) }
    chunks.append(OpenAIReply(made, finish: "stop"))
    if common.stream_options?.include_usage == true { chunks.append(OpenAIReply(made, usage: usage)) }
    return try .events(chunks)
  }
}
