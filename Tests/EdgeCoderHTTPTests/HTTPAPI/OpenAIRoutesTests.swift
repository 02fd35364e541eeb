import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import Testing

@testable import EdgeCoderHTTP

@Suite("The routes of OpenAI clients", .timeLimit(.minutes(5))) struct OpenAIRoutesTests {
  private static let hi = #""messages":[{"role":"user","content":"hi"}]"#

  @Test("A chat reply is one object without streaming") func chatWhole() async throws {
    let service = FakeService(output: "ja")
    let response = try await withAPI(service) {
      try await $0.post("/v1/chat/completions", #"{"model":"edgecoder",\#(Self.hi),"max_tokens":5}"#)
    }
    let json = try response.json()
    let choice = try #require((json["choices"] as? [[String: Any]])?.first)
    #expect(json["object"] as? String == "chat.completion")
    #expect(json["id"] as? String == "chatcmpl-ID-1")
    #expect(json["model"] as? String == "edgecoder")
    #expect(choice["message"] as? [String: String] == ["role": "assistant", "content": "ja"])
    #expect(choice["finish_reason"] as? String == "stop")
    #expect(json["usage"] == nil)
    #expect(service.calls == [.init(prompt: "hi", maxTokens: 5)])
  }

  @Test("A chat reply is streamed") func chatStreams() async throws {
    let text = String(repeating: "Fisch 🐟 ", count: 1500)
    let response = try await withAPI(FakeService(output: text, .counted)) {
      try await $0.post(
        "/v1/chat/completions",
        #"{"model":"edgecoder",\#(Self.hi),"stream":true,"stream_options":{"include_usage":true}}"#)
    }
    let events = response.events()
    #expect(response.headers[.contentType] == "text/event-stream")
    #expect(events.last == "[DONE]")
    let chunks = try events.dropLast().map { try jsonObject($0.utf8) }
    #expect(chunks.allSatisfy { $0["object"] as? String == "chat.completion.chunk" })
    let ids = Set(chunks.compactMap { $0["id"] as? String })
    #expect(ids.count == 1)
    #expect(ids.allSatisfy { $0.hasPrefix("chatcmpl-") })
    let choices = chunks.compactMap { ($0["choices"] as? [[String: Any]])?.first }
    let deltas = choices.compactMap { $0["delta"] as? [String: Any] }
    #expect(deltas.first?["role"] as? String == "assistant")
    #expect(deltas.compactMap { $0["content"] as? String }.joined() == text)
    #expect(choices.compactMap { $0["finish_reason"] as? String } == ["length"])
    #expect(choices.last?["finish_reason"] as? String == "length")
    #expect((chunks.last?["choices"] as? [Any])?.isEmpty == true)
    #expect(
      chunks.last?["usage"] as? [String: Int] == ["prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8])
  }

  @Test("A completion is one object without streaming", arguments: [#""hi""#, #"["hi"]"#]) func completion(
    prompt: String
  ) async throws {
    let service = FakeService(output: "ja")
    let response = try await withAPI(service) {
      try await $0.post("/v1/completions", #"{"model":"edgecoder","prompt":\#(prompt),"max_tokens":5}"#)
    }
    let json = try response.json()
    #expect(json["object"] as? String == "text_completion")
    #expect((json["choices"] as? [[String: Any]])?.first?["text"] as? String == "ja")
    #expect(service.calls == [.init(prompt: "hi", maxTokens: 5)])
  }

  @Test("A completion is streamed") func completionStreams() async throws {
    let response = try await withAPI(FakeService(output: "ja")) {
      try await $0.post("/v1/completions", #"{"model":"edgecoder","prompt":"hi","stream":true}"#)
    }
    let chunks = try response.events().dropLast().map { try jsonObject($0.utf8) }
    let texts = chunks.compactMap { ($0["choices"] as? [[String: Any]])?.first?["text"] as? String }
    #expect(texts.joined() == "ja")
    #expect(chunks.allSatisfy { $0["object"] as? String == "text_completion" })
    #expect(chunks.allSatisfy { $0["usage"] == nil })
  }

  @Test("The newer token limit has precedence") func theNewerTokenLimitGoesFirst() async throws {
    let service = FakeService(output: "x")
    _ = try await withAPI(service) {
      try await $0.post(
        "/v1/chat/completions", #"{\#(Self.hi),"max_tokens":5,"max_completion_tokens":6,"model":"edgecoder"}"#)
    }
    #expect(service.calls.map(\.maxTokens) == [6])
  }

  @Test("A stop sequence truncates the text") func stopCutsTheText() async throws {
    let response = try await withAPI(FakeService(output: "eins zwei")) {
      try await $0.post("/v1/chat/completions", #"{"model":"edgecoder",\#(Self.hi),"stop":" "}"#)
    }
    let choice = (try response.json()["choices"] as? [[String: Any]])?.first
    #expect((choice?["message"] as? [String: String])?["content"] == "eins")
  }

  @Test(
    "Invalid input is 400 in the form of OpenAI",
    arguments: [
      (#""messages":[]"#, "`messages` is empty"), (#""messages":7"#, "`messages` is not a"),
      (#""x":1"#, "`messages` is missing"),
      (#""messages":[{"content":"hi"}]"#, "`messages[0].role` is missing"),
      (#""messages":[{"role":"king","content":"hi"}]"#, "`messages[0].role` is not"),
      (
        #""messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a/b.png"}}]}]"#,
        "does not support images at a URL"
      ),
      (
        #""messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]"#,
        "is not a PNG"
      ),
      (#""messages":[{"role":"user","content":[{"type":"image_url"}]}]"#, "without a URL"),
      (#""messages":[{"role":"user","content":[{"type":"input_audio"}]}]"#, "neither text nor a picture"),
      (hi + #","tools":[{"type":"function"}]"#, "`tools[0].function.name`"), (hi + #","tools":{"a":1}"#, "`tools` is"),
      (hi + #","functions":[{"name":"f"}]"#, "does not support tools"),
      (hi + #","tool_choice":{"type":"x"}"#, "`tool_choice`"), (hi + #","temperature":"hot""#, "`temperature`"),
      (hi + #","seed":1.5"#, "`seed`"), (hi + #","n":2"#, "`n`"),
      (hi + #","logprobs":true"#, "`logprobs`"), (hi + #","top_logprobs":3"#, "`top_logprobs`"),
      (hi + #","modalities":["text","audio"]"#, "does not support audio"),
      (hi + #","audio":{"voice":"a"}"#, "does not support audio"),
      (hi + #","response_format":{"type":"xml"}"#, "`response_format.type`"),
      (hi + #","response_format":{"type":"json_schema"}"#, "`response_format.json_schema.schema`"),
      (hi + #","max_tokens":0"#, "`max_tokens`"),
    ])
  func badInputIs400InOpenAIsShape(fields: String, message: String) async throws {
    let service = FakeService(output: "x")
    let response = try await withAPI(service) {
      try await $0.post("/v1/chat/completions", #"{"model":"edgecoder",\#(fields)}"#)
    }
    let error = try #require(try response.json()["error"] as? [String: Any])
    #expect(response.status == .badRequest)
    #expect(error["type"] as? String == "invalid_request_error")
    #expect(Set(error.keys) == ["message", "type", "param", "code"])
    #expect((error["message"] as? String)?.contains(message) == true, "\(error)")
    #expect(service.calls.isEmpty)
  }

  @Test("A phone's failure is 502 and not retried") func aPhonesFailureIs502AndNotRetried() async throws {
    let response = try await withAPI(FakeService(output: "out of memory", ok: false)) {
      try await $0.post("/v1/chat/completions", #"{"model":"edgecoder",\#(Self.hi),"stream":true}"#)
    }
    let error = try #require(try response.json()["error"] as? [String: Any])
    #expect(response.status == .badGateway)
    #expect(error["type"] as? String == "server_error")
    #expect(error["code"] as? String == "phone_failed")
    #expect(error["message"] as? String == "the phone could not answer: out of memory")
    #expect(response.headers[.shouldRetry] == "false")
  }

  @Test("The lists contain the model edgecoder") func models() async throws {
    try await withAPI(FakeService(output: "x")) { client in
      let list = try await client.request(.get, "/v1/models").json()
      #expect(list["object"] as? String == "list")
      #expect((list["data"] as? [[String: Any]])?.compactMap { $0["id"] as? String } == ["edgecoder"])
      #expect(try await client.request(.get, "/v1/models/edgecoder").json()["object"] as? String == "model")
      let unknown = try await client.request(.get, "/v1/models/gpt-4o")
      #expect(unknown.status == .notFound)
      #expect((try unknown.json()["error"] as? [String: Any])?["code"] as? String == "model_not_found")
    }
  }
}
