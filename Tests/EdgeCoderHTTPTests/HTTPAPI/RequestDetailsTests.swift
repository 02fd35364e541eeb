import EdgeCoder
import EdgeCoderTesting
import Foundation
import HTTPTypes
import HummingbirdTesting
import JSONValues
import Testing

@testable import EdgeCoderHTTP

@Suite("What a client asks, as it reaches the phones", .timeLimit(.minutes(5))) struct RequestDetailsTests {
  private static let tool = #"{"type":"function","function":{"name":"weather","parameters":{"z":1,"a":2}}}"#
  private static let schema = #"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}"#
  private static let call = ToolCall(id: "call_1", name: "weather", arguments: #"{"city":"Zürich"}"#)

  private func asked(_ path: String, _ body: String) async throws -> InferenceRequest {
    let service = FakeService(output: "x")
    let response = try await withAPI(service) { try await $0.post(path, body) }
    #expect(response.status == .ok, "\(response.text)")
    #expect(response.headers[.ignored] == nil)
    return try #require(service.requests.first)
  }

  @Test("Everything of Ollama's chat arrives, in its order") func ollamaChat() async throws {
    let request = try await asked(
      "/api/chat",
      """
      {"model":"edgecoder","stream":false,"messages":[{"role":"system","content":"S"},{"role":"user","content":"hi"},
       {"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"z":1,"a":2}}}]},
       {"role":"tool","content":"rain","tool_name":"weather"}],"tools":[\(Self.tool)],"format":\(Self.schema),
       "options":{"temperature":0,"seed":7,"top_p":0.5,"top_k":3,"min_p":0.1,"repeat_penalty":1.1,"num_ctx":8192,
        "num_predict":9,"stop":"END"}}
      """)
    let details = request.details
    #expect(request.maxTokens == 9)
    #expect(details.messages.map(\.role) == [.system, .user, .assistant, .tool])
    #expect(details.messages[2].toolCalls.first?.arguments == #"{"z":1,"a":2}"#)
    #expect(details.messages[3].toolName == "weather")
    #expect(details.tools.map(\.written) == [Self.tool])
    #expect(details.format.map(Self.schemaText) == Self.schema)
    #expect(details.options.temperature == 0)
    #expect(details.options.seed == 7)
    #expect(details.options.contextLength == 8192)
    #expect(details.options.stop == ["END"])
    #expect(details.options.fields.count == 8)
  }

  private static let png = "iVBORw0KGgo="
  private static let gif = "R0lGODlhAQAB"
  private static func url(_ base64: String) -> String { "data:image/whatever;base64,\(base64)" }

  @Test(
    "Images arrive in their places",
    arguments: [
      ("/api/generate", #"{"stream":false,"prompt":"first","images":["\#(png)","\#(gif)"]}"#, [0, 0]),
      (
        "/api/chat",
        #"{"stream":false,"messages":[{"role":"user","content":"first","images":["\#(png)","\#(gif)"]}]}"#, [0, 0]
      ),
      (
        "/v1/chat/completions",
        """
        {"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"\(url(png))"}},
         {"type":"text","text":"first"},{"type":"image_url","image_url":{"url":"\(url(gif))","detail":"low"}}]}]}
        """, [0, 5]
      ),
      (
        "/v1/responses",
        """
        {"input":[{"role":"user","content":[{"type":"input_text","text":"fi"},{"type":"input_image",
         "image_url":"\(url(png))"},{"type":"input_text","text":"rst"},{"type":"input_image","image_url":"\(url(gif))"}]}]}
        """, [2, 5]
      ),
    ])
  func images(path: String, body: String, offsets: [Int]) async throws {
    let request = try await asked(path, body)
    let message = try #require(request.details.messages.first)
    #expect(message.content == "first")
    #expect(message.images.map(\.format) == [.png, .gif])
    #expect(message.images.map(\.base64) == [Self.png, Self.gif])
    #expect(message.images.map(\.offset) == offsets)
    #expect(request.details.fields == [.images])
  }

  @Test("Everything of OpenAI's chat arrives, in its order") func openAIChat() async throws {
    let request = try await asked(
      "/v1/chat/completions",
      """
      {"messages":[{"role":"developer","content":"S"},{"role":"user","content":"hi"},
       {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",
        "function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","content":"rain","tool_call_id":"call_1"}],
       "tools":[\(Self.tool)],"tool_choice":{"type":"function","function":{"name":"weather"}},
       "response_format":{"type":"json_schema","json_schema":{"name":"x","schema":\(Self.schema),"strict":true}},
       "temperature":0.5,"seed":7,"presence_penalty":1,"frequency_penalty":-1,"stop":["a","b"],"user":"me"}
      """)
    let details = request.details
    #expect(details.messages.map(\.role) == [.system, .user, .assistant, .tool])
    #expect(details.messages[2].toolCalls == [ToolCall(id: "call_1", name: "weather", arguments: "{}")])
    #expect(details.messages[3].toolCallID == "call_1")
    #expect(details.tools.map(\.written) == [Self.tool])
    #expect(details.toolChoice == .tool("weather"))
    #expect(details.format.map(Self.schemaText) == Self.schema)
    if case .schema(_, let isStrict) = details.format { #expect(isStrict) }
    #expect(details.options.presencePenalty == 1)
    #expect(details.options.stop == ["a", "b"])
  }

  @Test("A system text and a format of a prompt arrive") func generate() async throws {
    let request = try await asked(
      "/api/generate", #"{"model":"edgecoder","prompt":"hi","system":"S","format":"json","stream":false}"#)
    #expect(request.details.messages == [ChatMessage(.system, "S"), ChatMessage(.user, "hi")])
    #expect(request.details.format == .json)
    #expect(request.prompt == "S\n\nhi")
  }

  private static let bodies = [
    (
      "/api/chat", #"{"messages":[{"role":"user","content":"hi"}],"options":{"num_gpu":1},"x":1,"keep_alive":5"#,
      "x, num_gpu"
    ),
    ("/api/generate", #"{"prompt":"hi","options":{"mirostat":2}"#, "mirostat"),
    (
      "/v1/chat/completions",
      #"{"messages":[{"role":"user","content":"hi"}],"logit_bias":{"1":2},"reasoning_effort":"low","user":"u""#,
      "logit_bias, reasoning_effort"
    ),
    ("/v1/completions", #"{"prompt":"hi","logit_bias":{"1":2}"#, "logit_bias"),
  ]

  @Test("What has no effect is named in a header", arguments: bodies, [false, true])
  func whatHasNoEffect(case: (path: String, body: String, names: String), streams: Bool) async throws {
    let service = FakeService(output: "x", parts: [.ignored([.seed, .stop]), .ignored([.messages])])
    let response = try await withAPI(service) {
      try await $0.post(`case`.path, `case`.body + #","stream":\#(streams)}"#)
    }
    #expect(response.status == .ok)
    #expect(response.headers[.ignored] == `case`.names + ", seed, messages")
  }

  @Test("A name that is no token is in no header") func noNewLines() async throws {
    let response = try await withAPI(FakeService(output: "x")) {
      try await $0.post("/api/generate", #"{"prompt":"hi","a\r\nb":1,"c d":1,"ok":1}"#)
    }
    #expect(response.headers[.ignored] == "ok")
  }

  @Test("Calls of tools reach Ollama clients", arguments: [false, true]) func ollamaCalls(streams: Bool) async throws {
    let service = FakeService(output: "", Completion(.toolCalls), parts: [.toolCall(Self.call)])
    let response = try await withAPI(service) {
      try await $0.post(
        "/api/chat", #"{"messages":[{"role":"user","content":"hi"}],"tools":[\#(Self.tool)],"stream":\#(streams)}"#)
    }
    let lines = try response.jsonLines()
    let message = try #require(lines.first?["message"] as? [String: Any])
    let call = (message["tool_calls"] as? [[String: Any]])?.first
    let function = try #require(call?["function"] as? [String: Any])
    #expect(function["name"] as? String == "weather")
    #expect(function["arguments"] as? [String: String] == ["city": "Zürich"])
    #expect(lines.last?["done_reason"] as? String == "stop")
    #expect(lines.count == (streams ? 2 : 1))
  }

  @Test("Arguments that are no object fail for Ollama clients", arguments: [false, true])
  func argumentsThatAreNoObject(streams: Bool) async throws {
    let call = ToolCall(id: "1", name: "f", arguments: "[broken")
    let response = try await withAPI(FakeService(output: "", parts: [.toolCall(call)])) {
      try await $0.post(
        "/api/chat", #"{"messages":[{"role":"user","content":"hi"}],"tools":[\#(Self.tool)],"stream":\#(streams)}"#)
    }
    #expect(response.status == (streams ? .ok : .badGateway))
    #expect(response.text.contains("arguments that are not a JSON object"))
  }

  @Test("Calls of tools reach OpenAI clients", arguments: [false, true]) func openAICalls(streams: Bool) async throws {
    let other = ToolCall(id: "call_2", name: "time", arguments: "{}")
    let service = FakeService(output: "", parts: [.toolCall(Self.call), .toolCall(other)])
    let response = try await withAPI(service) {
      try await $0.post(
        "/v1/chat/completions",
        #"{"messages":[{"role":"user","content":"hi"}],"tools":[\#(Self.tool)],"stream":\#(streams)}"#)
    }
    let objects = streams ? try response.events().dropLast().map { try jsonObject($0.utf8) } : [try response.json()]
    let choices = objects.compactMap { ($0["choices"] as? [[String: Any]])?.first }
    let calls = choices.flatMap { choice in
      ((choice[streams ? "delta" : "message"] as? [String: Any])?["tool_calls"] as? [[String: Any]]) ?? []
    }
    #expect(calls.map { $0["id"] as? String } == ["call_1", "call_2"])
    #expect(calls.map { $0["index"] as? Int } == (streams ? [0, 1] : [nil, nil]))
    #expect((calls.first?["function"] as? [String: String])?["arguments"] == Self.call.arguments)
    #expect(choices.last?["finish_reason"] as? String == "tool_calls")
    if !streams { #expect((choices.first?["message"] as? [String: Any])?["content"] is NSNull) }
  }

  @Test("What a phone cannot do is 400 in the words that clients know") func theWords() async throws {
    let error = InferenceError(
      .unsupported, "Pixel does not support tools (`tools`): its connection carries prompts alone")
    for path in ["/api/chat", "/v1/chat/completions"] {
      let response = try await withAPI(FakeService(failing: error)) {
        try await $0.post(path, #"{"messages":[{"role":"user","content":"hi"}],"tools":[\#(Self.tool)]}"#)
      }
      #expect(response.status == .badRequest)
      #expect(try response.errorText()?.contains("does not support tools") == true)
    }
  }

  private static func schemaText(_ format: RequestDetails.Format) -> String? {
    if case .schema(let schema, _) = format { schema.written } else { nil }
  }
}

extension JSONValue {
  fileprivate var written: String { String(decoding: encoded, as: UTF8.self) }
}
