import EdgeCoder
import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import Testing

@testable import EdgeCoderHTTP

@Suite("The route /v1/responses", .timeLimit(.minutes(5))) struct ResponsesRouteTests {
  private static let call = ToolCall(id: "call_1", name: "weather", arguments: #"{"city":"Zürich"}"#)

  @Test("A request arrives as the other routes would send it") func aRequestArrives() async throws {
    let service = FakeService(output: "x")
    let response = try await withAPI(service) {
      try await $0.post(
        "/v1/responses",
        """
        {"model":"edgecoder","instructions":"S","max_output_tokens":9,"temperature":0.5,"store":true,
         "input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},
          {"type":"reasoning","summary":[]},
          {"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"},
          {"type":"function_call","call_id":"c2","name":"weather","arguments":"{}"},
          {"type":"function_call_output","call_id":"c1","output":"rain"}],
         "tools":[{"type":"function","name":"weather","parameters":{"z":1,"a":2}}],"tool_choice":"required",
         "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}}}
        """)
    }
    #expect(response.status == .ok, "\(response.text)")
    let request = try #require(service.requests.first)
    #expect(request.maxTokens == 9)
    #expect(request.details.messages.map(\.role) == [.system, .user, .assistant, .tool])
    #expect(request.details.messages[1].content == "ab")
    #expect(request.details.messages[2].toolCalls.map(\.id) == ["c1", "c2"])
    #expect(request.details.messages[3].toolCallID == "c1")
    #expect(request.details.options.temperature == 0.5)
    #expect(request.details.toolChoice == .required)
    let tool = #"{"type":"function","function":{"name":"weather","parameters":{"z":1,"a":2}}}"#
    #expect(request.details.tools.map { String(decoding: $0.encoded, as: UTF8.self) } == [tool])
    #expect(request.details.format == .schema(.object([.init("type", .string("object"))]), isStrict: true))
    #expect(response.headers[.ignored] == nil)
  }

  @Test("A whole reply has the text, the calls and the counts") func aWholeReply() async throws {
    let service = FakeService(output: "Grüß dich", .counted, parts: [.ignored([.topP]), .toolCall(Self.call)])
    let response = try await withAPI(service) {
      try await $0.post("/v1/responses", #"{"input":"hi","reasoning":{"effort":"low"}}"#)
    }
    let json = try response.json()
    #expect(json["object"] as? String == "response")
    #expect(json["status"] as? String == "incomplete")
    #expect((json["incomplete_details"] as? [String: String])?["reason"] == "max_output_tokens")
    #expect((json["usage"] as? [String: Any])?["total_tokens"] as? Int == 8)
    let output = try #require(json["output"] as? [[String: Any]])
    #expect(output.map { $0["type"] as? String } == ["message", "function_call"])
    #expect((output.first?["content"] as? [[String: Any]])?.first?["text"] as? String == "Grüß dich")
    #expect(output.last?["arguments"] as? String == Self.call.arguments)
    #expect(response.headers[.ignored] == "reasoning, top_p")
  }

  @Test("The events count from 0, and the last one has the whole reply") func events() throws {
    let reply = ResponsesReply(id: "resp_1", created: 7, asked: .object([]))
    var events = ResponsesEvents(reply) { $0 + "1" }
    var all = events.start()
    for piece in ["a", "b"] { all += events.text(piece) }
    all += events.call(Self.call)
    all += events.text("c")
    all += events.end(Completion(.stop))
    #expect(all.map { $0["sequence_number"]?.integer } == Array(0..<all.count))
    let last = try #require(all.last)
    #expect(last["type"]?.text == "response.completed")
    let output = last["response"]?["output"]?.elements ?? []
    #expect(output.compactMap { $0["type"]?.text } == ["message", "function_call", "message"])
    #expect(output.first?["content"]?.elements?.first?["text"]?.text == "ab")
    let added = all.filter { $0["type"]?.text == "response.output_item.added" }
    #expect(added.map { $0["output_index"]?.integer } == [0, 1, 2])
    let done = all.filter { $0["type"]?.text == "response.output_text.done" }
    #expect(done.map { $0["text"]?.text } == ["ab", "c"])
  }

  @Test("A failure after the first text is an event") func aFailureInMidStream() async throws {
    let service = FakeService(parts: [.text("a")]) { _ in throw InferenceError(.disconnected, "the phone left") }
    let response = try await withAPI(service) { try await $0.post("/v1/responses", #"{"input":"hi","stream":true}"#) }
    #expect(response.status == .ok)
    let last = try #require(response.text.split(separator: "\n").last { $0.hasPrefix("data: ") })
    let event = try jsonObject(last.dropFirst("data: ".count).utf8)
    #expect(event["type"] as? String == "error")
    #expect(event["message"] as? String == "the phone left")
    #expect(!response.text.contains("response.completed"))
  }

  @Test(
    "What is not supported is 400 with its name",
    arguments: [
      (#""x":1"#, "`input`"), (#""input":[]"#, "`input`"),
      (#""input":"a","previous_response_id":"r""#, "previous_response_id"),
      (#""input":"a","background":true"#, "background"), (#""input":"a","tools":[{"type":"web_search"}]"#, "tools[0]"),
      (#""input":[{"role":"king","content":"a"}]"#, "input[0].role"),
      (#""input":[{"role":"user"}]"#, "input[0].content"),
      (#""input":[{"role":"user","content":[{"type":"input_image"}]}]"#, "without a URL"),
      (
        #""input":[{"role":"user","content":[{"type":"input_image","image_url":"https://a/b.png"}]}]"#,
        "does not support images at a URL"
      ),
      (#""input":[{"role":"user","content":[{"type":"input_file"}]}]"#, "neither text nor a picture"),
      (#""input":[{"type":"item_reference","id":"x"}]"#, "input[0].type"),
      (#""input":"a","text":{"format":{"type":"xml"}}"#, "text.format.type"),
      (#""input":[{"type":"function_call_output","output":"a"}]"#, "call_id"),
    ])
  func whatIsNotSupported(fields: String, words: String) async throws {
    let service = FakeService(output: "x")
    let response = try await withAPI(service) { try await $0.post("/v1/responses", "{\(fields)}") }
    #expect(response.status == .badRequest)
    #expect(try response.errorText()?.contains(words) == true, "\(response.text)")
    #expect(service.calls.isEmpty)
  }
}
