import EdgeCoder
import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import Testing

@Suite(
  "The HTTP API, as OpenAI's Python client sees it", .timeLimit(.minutes(5)),
  .enabled(if: PythonScript.has("openai"), "no openai in .venv-peers"))
struct RealOpenAIClientTests {
  /// The environments that have the client: its present line, and the older ones if `scripts/test clients` has installed them.
  private static let environments = [".venv-peers", ".venv-openai-1", ".venv-openai-2"].filter {
    PythonScript.has("openai", in: $0)
  }

  @Test("The official OpenAI client understands all replies", arguments: environments)
  func itUnderstandsEverything(environment: String) async throws {
    let service = FakeService { call in
      switch call.prompt {
      case "no phone": throw InferenceError(.noPhoneReady, "no phone is ready")
      case "too late": throw InferenceError(.timedOut, "no reply in 90 s")
      default:
        var reply = InferenceReply(
          id: "1", output: call.prompt == "fail" ? "out of memory" : "Grüß dich 🐟", ok: call.prompt != "fail",
          durationMs: 5, phone: "p")
        reply.completion = .counted
        return reply
      }
    }
    let printed = try await withAPI(service, .live) { client in
      let script = try PythonScript(
        "openai_client.py", in: environment, "http://127.0.0.1:\(try #require(client.port))")
      return try await script.read()
    }
    let found = try jsonObject(printed.utf8)
    #expect(found["models"] as? [String] == ["edgecoder"])
    #expect(found["chat"] as? [AnyHashable] == ["Grüß dich 🐟", "length", 8])
    #expect(found["streamed"] as? String == "Grüß dich 🐟")
    #expect(found["streamed usage"] as? Int == 8)
    #expect(found["completion"] as? String == "Grüß dich 🐟")
    #expect(found["completion streamed"] as? String == "Grüß dich 🐟")
    func failure(_ name: String) -> [AnyHashable]? { (found[name] as? [AnyHashable])?.prefix(3).map { $0 } }
    #expect(failure("unknown model") == ["NotFoundError", 404, "model_not_found"])
    #expect(failure("no phone") == ["InternalServerError", 503, "no_phone_ready"])
    #expect(failure("too late") == ["InternalServerError", 504, "timeout"])
    #expect(failure("phone failed") == ["InternalServerError", 502, "phone_failed"])
    #expect(failure("bad request") == ["BadRequestError", 400, "invalid_request"])
    #expect(service.calls.first == .init(prompt: "Be brief.\n\nhello", maxTokens: 16))
  }

  @Test("The official OpenAI client understands calls of tools", arguments: environments)
  func itUnderstandsCallsOfTools(environment: String) async throws {
    let call = ToolCall(id: "call_1", name: "weather", arguments: #"{"city":"Zürich"}"#)
    let service = FakeService(output: "", Completion(.toolCalls), parts: [.ignored([.seed]), .toolCall(call)])
    let printed = try await withAPI(service, .live) { client in
      try await PythonScript("openai_details.py", in: environment, "http://127.0.0.1:\(try #require(client.port))")
        .read()
    }
    let found = try jsonObject(printed.utf8)
    #expect(found["ignored"] as? String == "logit_bias, seed")
    let whole = try #require(found["call"] as? [Any])
    #expect(whole.first as? String == "tool_calls")
    #expect(whole[1] is NSNull)
    #expect((whole.last as? [[Any]])?.first?.last as? [String: String] == ["city": "Zürich"])
    #expect((found["streamed"] as? [Any])?.first as? String == "tool_calls")
    #expect(
      ((found["streamed"] as? [Any])?.last as? [String: [String]])?["0"] == ["call_1", "weather", call.arguments])
    #expect(found["joined"] as? String == call.arguments)
    #expect(service.requests.first?.details.options.temperature == 0)
    #expect(service.requests.first?.details.tools.count == 1)
  }

  @Test("The official OpenAI client understands /v1/responses", arguments: environments)
  func itUnderstandsResponses(environment: String) async throws {
    let call = ToolCall(id: "call_1", name: "weather", arguments: #"{"city":"Zürich"}"#)
    let service = FakeService(parts: [.text("Grüß "), .toolCall(call)]) { asked in
      var reply = InferenceReply(id: "1", output: "Grüß dich 🐟", ok: true, durationMs: 5, phone: "p")
      reply.completion = .counted
      if asked.maxTokens == nil { reply.completion?.reason = .stop }
      return reply
    }
    let printed = try await withAPI(service, .live) { client in
      try await PythonScript("openai_responses.py", in: environment, "http://127.0.0.1:\(try #require(client.port))")
        .read()
    }
    let found = try jsonObject(printed.utf8)
    #expect(found["whole"] as? [AnyHashable] == ["incomplete", "Grüß dich 🐟", 8, "max_output_tokens"])
    let calls = try #require(found["calls"] as? [[Any]])
    #expect(calls.first?.first as? String == "call_1")
    #expect(calls.first?.last as? [String: String] == ["city": "Zürich"])
    let kinds = try #require(found["kinds"] as? [String])
    #expect(kinds.first == "response.created")
    #expect(kinds.last == "response.completed")
    #expect(kinds.contains("response.output_text.delta"))
    #expect(kinds.contains("response.function_call_arguments.done"))
    let final = try #require(found["final"] as? [Any])
    #expect(final.first as? String == "Grüß dich 🐟")
    #expect(final.last as? [String] == ["message", "function_call", "message"])
    #expect(found["second"] as? String == "Grüß dich 🐟")
    #expect((found["refused"] as? String)?.contains("previous_response_id") == true)
    let last = try #require(service.requests.last)
    #expect(last.details.messages.map(\.role) == [.user, .assistant, .tool])
    #expect(last.details.messages[1].toolCalls == [call])
  }
}
