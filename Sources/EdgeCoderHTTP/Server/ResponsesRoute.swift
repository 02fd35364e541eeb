internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import JSONValues
internal import NIOCore

/// The route `/v1/responses`, which newer OpenAI clients use first. Replies are not kept.
struct ResponsesRoute: Sendable {
  let runner: PromptRunner

  func add(to router: APIRouter) {
    router.post("/v1/responses") { request, context in
      let body = try await runner.decode(ResponsesRequest.self, from: request)
      let prompt = try body.checkedPrompt()
      let reply = ResponsesReply(
        id: Self.newID("resp_"), created: Int(Date().timeIntervalSince1970), asked: body.json)
      if body.stream == true { return stream(reply, try await runner.start(prompt, for: context)) }
      let live = try await runner.run(prompt, for: context)
      var output: [JSONValue] = []
      if !live.text.isEmpty || live.toolCalls.isEmpty {
        output.append(ResponsesReply.message(id: Self.newID("msg_"), text: live.text))
      }
      output += live.toolCalls.map { ResponsesReply.call(id: Self.newID("fc_"), $0) }
      return .json(reply.ended(output, live.completion)).naming(ignored: live.ignored)
    }
  }

  private static func newID(_ prefix: String) -> String {
    prefix + UUID().uuidString.lowercased().filter { $0 != "-" }
  }

  private func stream(_ reply: ResponsesReply, _ started: StartedReply) -> Response {
    let response = Response(
      status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-cache"],
      body: ResponseBody { writer in
        var live = started.live
        var next = started.first
        var events = ResponsesEvents(reply, makeID: Self.newID)
        do {
          try await Self.write(events.start(), to: &writer)
          while let part = next {
            switch part {
            case .text(let text):
              for piece in ReplyText.pieces(text) { try await Self.write(events.text(piece), to: &writer) }
            case .toolCall(let call): try await Self.write(events.call(call), to: &writer)
            case .thinking: break  // OpenAI's own models keep it to themselves
            case .ignored, .waiting: break  // the header has the first, and no event the second
            }
            next = try await live.next()
          }
          try await Self.write(events.end(live.completion), to: &writer)
        } catch {
          try await Self.write([events.failure(APIError(any: error))], to: &writer)
        }
        try await writer.finish(nil)
      })
    return response.naming(ignored: started.live.ignored)
  }

  private static func write(_ events: [JSONValue], to writer: inout any ResponseBodyWriter) async throws {
    for event in events {
      let text = "event: \(event["type"]?.text ?? "error")\ndata: \(try Response.text(event))\n\n"
      try await writer.write(ByteBuffer(string: text))
    }
  }
}
