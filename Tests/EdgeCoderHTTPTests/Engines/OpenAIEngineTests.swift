import EdgeCoder
import EdgeCoderHTTP
import Foundation
import NIOConcurrencyHelpers
import Testing

@Suite("The OpenAI engine", .timeLimit(.minutes(5))) struct OpenAIEngineTests {
  /// As llama.cpp sends it: a first delta without content, a finish, a usage chunk without choices, [DONE].
  private static let reply = [
    #"{"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}"#,
    #"{"choices":[{"index":0,"delta":{"content":"Grüß"},"finish_reason":null}]}"#,
    #"{"choices":[{"index":0,"delta":{"content":" dich 🐟"},"finish_reason":null}]}"#,
    #"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
    #"{"choices":[],"usage":{"completion_tokens":2}}"#, "[DONE]",
  ].map { "data: \($0)\n\n" }.joined()

  @Test("Replies in chunks of any size", arguments: [1, 2, 3, 7, 64, 4096]) func repliesInChunksOfAnySize(size: Int)
    async throws
  {
    let text = try await FakeEngineServer.run { _, connection in
      try await connection.chunkedHead(type: "text/event-stream")
      let bytes = Array(": ping\n\n\(Self.reply)".utf8)
      for start in stride(from: 0, to: bytes.count, by: size) {
        try await connection.chunk(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      try await connection.lastChunk()
    } test: { url in
      try await collect(OpenAIEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
    }
    #expect(text == ["Grüß", " dich 🐟"])
  }

  @Test(
    "The end has the reason, the usage and the times of the server",
    arguments: [
      (
        [
          #"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
          #"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5},"timings":{"prompt_ms":0.5,"predicted_ms":2}}"#,
        ], "length", 3, 5, Duration.microseconds(500), Duration.milliseconds(2)
      ),
      ([#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#], "content_filter", nil, nil, nil, nil),
      ([#"{"choices":[{"text":"","finish_reason":"ODD WORD"}]}"#], "unknown", nil, nil, nil, nil),
    ] as [([String], String, Int?, Int?, Duration?, Duration?)])
  func theEndIsTheServers(
    events: [String], reason: String, promptTokens: Int?, replyTokens: Int?, promptTime: Duration?,
    replyTime: Duration?
  ) async throws {
    let end = try await FakeEngineServer.run { _, connection in
      try await connection.reply((events + ["[DONE]"]).map { "data: \($0)\n\n" }.joined())
    } test: { url in
      try await completion(of: OpenAIEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
    }
    var expected = Completion(try #require(Completion.Reason(rawValue: reason)))
    expected.promptTokens = promptTokens
    expected.replyTokens = replyTokens
    expected.promptTime = promptTime
    expected.replyTime = replyTime
    #expect(end == expected)
  }

  @Test("A reply that ends with an error has failed") func aReplyThatEndsWithAnErrorHasFailed() async throws {
    let error = try await failure { _, connection in
      try await connection.reply(
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n")
    }
    #expect(error?.code == .interrupted)
  }

  @Test("A server that refuses to count is asked without", arguments: [400, 422])
  func aServerThatRefusesToCountIsAskedWithout(status: Int) async throws {
    let text = try await FakeEngineServer.run { request, connection in
      let json = try jsonObject(request.body)
      #expect(json["max_tokens"] == nil)
      guard json["stream_options"] == nil else {
        return try await connection.reply(status, #"{"error":{"message":"Unknown field: stream_options"}}"#)
      }
      try await connection.reply(Self.reply)
    } test: { url in
      try await collect(OpenAIEngine(url: url, model: "m").generate(.init(prompt: "hi")))
    }
    #expect(text.joined() == "Grüß dich 🐟")
  }

  @Test("The request is that of OpenAI", arguments: ["", "/", "/v1", "/v1/"]) func theRequestIsOpenAIs(suffix: String)
    async throws
  {
    let seen = NIOLockedValueBox<FakeEngineServer.Request?>(nil)
    try await FakeEngineServer.run { request, connection in
      seen.withLockedValue { $0 = request }
      try await connection.reply(Self.reply)
    } test: { url in
      let engine = try OpenAIEngine(url: url + suffix, model: "m", apiKey: APIKey("sk-geheim"))
      _ = try await collect(engine.generate(.init(prompt: "hi", maxTokens: 99)))
    }
    let request = try #require(seen.withLockedValue { $0 })
    let json = try jsonObject(request.body)
    #expect(request.path == "/v1/chat/completions")
    #expect(request.headers["authorization"] == "Bearer sk-geheim")
    #expect(json["model"] as? String == "m")
    #expect(json["messages"] as? [[String: String]] == [["role": "user", "content": "hi"]])
    #expect(json["max_tokens"] as? Int == 99)
    #expect(json["stream"] as? Bool == true)
    #expect(json["stream_options"] as? [String: Bool] == ["include_usage": true])
  }

  @Test("A server without chat gets a completion") func aServerWithoutChatGetsACompletion() async throws {
    let text = try await FakeEngineServer.run { request, connection in
      guard request.path == "/v1/completions" else {
        return try await connection.reply(404, #"{"detail":"Not Found"}"#)
      }
      let prompt = try jsonObject(request.body)["prompt"] as? String ?? ""
      try await connection.reply(
        "data: {\"choices\":[{\"text\":\"<\(prompt)>\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
    } test: { url in
      try await collect(OpenAIEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
    }
    #expect(text == ["<hi>"])
  }

  @Test("The newer token limit is used when the server asks for it")
  func theNewerTokenLimitIsUsedWhenTheServerAsksForIt() async throws {
    let text = try await FakeEngineServer.run { request, connection in
      let json = try jsonObject(request.body)
      guard json["max_tokens"] == nil, json["max_completion_tokens"] as? Int == 5 else {
        return try await connection.reply(
          400, #"{"error":{"message":"Unsupported parameter: use 'max_completion_tokens' instead."}}"#)
      }
      try await connection.reply(Self.reply)
    } test: { url in
      try await collect(OpenAIEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
    }
    #expect(text.joined() == "Grüß dich 🐟")
  }

  @Test("A server that does not stream is understood") func aServerThatDoesNotStreamIsUnderstood() async throws {
    let text = try await FakeEngineServer.run { _, connection in
      try await connection.reply("{\n\"choices\":[{\"message\":\n{\"role\":\"assistant\",\"content\":\"whole\"}}]}")
    } test: { url in
      try await collect(OpenAIEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
    }
    #expect(text == ["whole"])
  }

  @Test("A stream without done is complete after its finish") func aStreamWithoutDoneIsCompleteAfterItsFinish()
    async throws
  {
    let text = try await FakeEngineServer.run { _, connection in
      try await connection.reply("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n")
    } test: { url in
      try await collect(OpenAIEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
    }
    #expect(text == ["a"])
  }

  @Test("A stream without finish is interrupted") func aStreamWithoutFinishIsInterrupted() async throws {
    let error = try await failure { _, connection in
      try await connection.reply("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n")
    }
    #expect(error?.code == .interrupted)
  }

  @Test(
    "Refusals have the message of the server",
    arguments: [
      (
        400, #"{"error":{"code":400,"message":"the request exceeds the available context size"}}"#, "context size",
        "shorten", EngineError.Code.contextExceeded
      ),
      (401, #"{"error":{"message":"Invalid API Key"}}"#, "Invalid API Key", "API key", .refused),
      (
        404, #"{"error":{"message":"The model `m` does not exist."}}"#, "does not exist", "check the name of the model",
        .noModel
      ),
      (500, #"{"error":"boom"}"#, "boom", "log", .refused), (503, "", "status 503", "again", .busy),
      (503, #"{"error":{"message":"Loading model"}}"#, "Loading", "again", .noModel),
    ])
  func refusalsInTheServersWords(
    status: Int, body: String, message: String, hint: String, code: EngineError.Code
  ) async throws {
    let error = try await failure { _, connection in try await connection.reply(status, body) }
    #expect(error?.code == code)
    #expect(error?.message.contains(message) == true)
    #expect(error?.hint?.contains(hint) == true)
  }

  @Test(
    "An error in mid stream is refused",
    arguments: [#"data: {"error":{"message":"slot lost"}}"#, #"error: {"message":"slot lost"}"#])
  func anErrorInMidStreamIsRefused(line: String) async throws {
    let error = try await failure { _, connection in
      try await connection.reply("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\(line)\n\n")
    }
    #expect(error?.code == .refused)
    #expect(error?.message.contains("slot lost") == true)
  }

  @Test("No error has the address of the server, also when the server quotes it") func noErrorHasTheAddress()
    async throws
  {
    let seen = NIOLockedValueBox("")
    let error = try await failure { request, connection in
      let host = request.headers["host"] ?? ""
      seen.withLockedValue { $0 = host }
      try await connection.reply(500, #"{"error":"cannot reach http://\#(host)/v1"}"#)
    }
    let host = seen.withLockedValue { $0 }
    #expect(host.hasPrefix("127.0.0.1:"))
    #expect(error?.message.contains("cannot reach") == true)
    #expect(error?.message.contains(host) == false)
  }

  private static let llama = #"{"data":[{"id":"/m.gguf","owned_by":"llamacpp","meta":{"n_params":494032768}}]}"#
  private static let other = #"{"data":[{"id":"a","owned_by":"x"}]}"#

  @Test(
    "The state follows from the replies of the server",
    arguments: [
      (nil, (200, llama), 200, ModelState.ready), ("any", (200, llama), 200, .ready),
      (nil, (200, llama), 503, .loading),
      (nil, (503, "{}"), 503, .loading), ("a", (200, other), 404, .ready), ("b", (200, other), 404, .notInstalled),
      (nil, (200, #"{"data":[]}"#), 404, .notInstalled), (nil, (404, "{}"), 200, .ready),
      (nil, (401, "{}"), 200, .error),
      (nil, (200, "<html>"), 200, .error),
    ])
  func stateFromTheServer(model: String?, models: (Int, String), health: Int, expected: ModelState) async throws {
    let state = try await FakeEngineServer.run { request, connection in
      if request.path == "/health" { return try await connection.reply(health, "{}") }
      try await connection.reply(models.0, models.1)
    } test: { url in
      try await OpenAIEngine(url: url, model: model, limits: .patient).modelState()
    }
    #expect(state == expected)
  }

  @Test(
    "The model is that of the server",
    arguments: [
      (nil, llama, "/m.gguf", 0.494032768), ("any", llama, "any", 0.494032768), (nil, other, "a", nil),
      ("b", other, "b", nil), (nil, #"{"data":[]}"#, nil, nil), (nil, "<html>", nil, nil),
    ] as [(String?, String, String?, Double?)])
  func theModelIsWhatTheServerTells(model: String?, models: String, name: String?, size: Double?) async throws {
    let active = try await FakeEngineServer.run { _, connection in
      try await connection.reply(models)
    } test: { url in
      try await OpenAIEngine(url: url, model: model, limits: .patient).activeModel()
    }
    #expect(active?.name == name)
    #expect(active?.billionsOfParameters == size)
  }

  @Test("The key is shown nowhere") func theKeyIsShownNowhere() throws {
    let key = try #require(APIKey("sk-geheim"))
    var dumped = ""
    dump(key, to: &dumped)
    for text in ["\(key)", String(reflecting: key), dumped, "\(try OpenAIEngine(apiKey: key))"] {
      #expect(!text.contains("geheim"))
    }
    #expect(APIKey("") == nil)
    #expect(APIKey("a\r\nX-Evil: 1") == nil)
  }

  private func failure(_ script: @escaping FakeEngineServer.Script) async throws -> EngineError? {
    try await FakeEngineServer.run(script) { url in
      await #expect(throws: EngineError.self) {
        _ = try await collect(OpenAIEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
      }
    }
  }
}
