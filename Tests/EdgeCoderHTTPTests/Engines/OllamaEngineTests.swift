import EdgeCoder
import EdgeCoderHTTP
import Foundation
import NIOConcurrencyHelpers
import Testing

@Suite("The Ollama engine", .timeLimit(.minutes(5))) struct OllamaEngineTests {
  private static let reply = [
    #"{"model":"m","created_at":"t","response":"Grüß","done":false}"#,
    #"{"model":"m","created_at":"t","response":" dich 🐟","done":false}"#,
    #"{"model":"m","created_at":"t","response":"","done":true,"done_reason":"stop","eval_count":7}"#,
  ].map { $0 + "\n" }.joined()

  @Test("Replies in chunks of any size", arguments: [1, 2, 3, 7, 64, 4096]) func repliesInChunksOfAnySize(size: Int)
    async throws
  {
    let text = try await FakeEngineServer.run { request, connection in
      try await connection.chunkedHead(type: "application/x-ndjson")
      let bytes = Array(Self.reply.utf8)
      for start in stride(from: 0, to: bytes.count, by: size) {
        try await connection.chunk(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      try await connection.lastChunk()
    } test: { url in
      try await collect(OllamaEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
    }
    #expect(text == ["Grüß", " dich 🐟"])
  }

  @Test(
    "The end has the reason and the counts of the server",
    arguments: [
      (
        #""done_reason":"length","load_duration":11,"prompt_eval_count":3,"prompt_eval_duration":12,"eval_count":5,"#
          + #""eval_duration":13"#, Completion.counted
      ),
      (#""done_reason":"stop""#, Completion(.stop)), (#""x":1"#, Completion(.stop)),
    ])
  func theEndIsTheServers(fields: String, expected: Completion) async throws {
    let end = try await FakeEngineServer.run { _, connection in
      try await connection.reply(#"{"response":"a","done":true,\#(fields)}"# + "\n")
    } test: { url in
      try await completion(of: OllamaEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
    }
    #expect(end == expected)
  }

  @Test("Without a limit the server applies its own") func withoutALimitTheServerAppliesItsOwn() async throws {
    let seen = NIOLockedValueBox<FakeEngineServer.Request?>(nil)
    try await FakeEngineServer.run { request, connection in
      seen.withLockedValue { $0 = request }
      try await connection.reply(Self.reply)
    } test: { url in
      _ = try await collect(OllamaEngine(url: url, model: "m").generate(.init(prompt: "hi")))
    }
    let json = try jsonObject(try #require(seen.withLockedValue { $0 }).body)
    #expect((json["options"] as? [String: Any])?.isEmpty == true)
  }

  @Test("The request is that of Ollama") func theRequestIsOllamas() async throws {
    let seen = NIOLockedValueBox<FakeEngineServer.Request?>(nil)
    try await FakeEngineServer.run { request, connection in
      seen.withLockedValue { $0 = request }
      try await connection.reply(Self.reply)
    } test: { url in
      _ = try await collect(
        OllamaEngine(url: url + "/", model: "m:1b").generate(.init(prompt: "Wie \"geht's\"?", maxTokens: 99)))
    }
    let request = try #require(seen.withLockedValue { $0 })
    let json = try jsonObject(request.body)
    #expect(request.method == "POST")
    #expect(request.path == "/api/generate")
    #expect(json["model"] as? String == "m:1b")
    #expect(json["prompt"] as? String == "Wie \"geht's\"?")
    #expect(json["stream"] as? Bool == true)
    #expect((json["options"] as? [String: Any])?["num_predict"] as? Int == 99)
  }

  @Test("Without a model the loaded one is used") func withoutAModelTheLoadedOneIsUsed() async throws {
    let model = NIOLockedValueBox("")
    try await FakeEngineServer.run { request, connection in
      switch request.path {
      case "/api/ps": try await connection.reply(#"{"models":[{"name":"loaded:1b"}]}"#)
      case "/api/tags": try await connection.reply(#"{"models":[{"name":"first:7b"},{"name":"loaded:1b"}]}"#)
      default:
        let asked = try jsonObject(request.body)["model"] as? String ?? ""
        model.withLockedValue { $0 = asked }
        try await connection.reply(Self.reply)
      }
    } test: { url in
      _ = try await collect(OllamaEngine(url: url, limits: .patient).generate(.init(prompt: "hi", maxTokens: 5)))
    }
    #expect(model.withLockedValue { $0 } == "loaded:1b")
  }

  @Test("An unknown model is refused with the message of the server") func anUnknownModelIsRefusedInTheServersWords()
    async throws
  {
    let error = try await failure { _, connection in
      try await connection.reply(404, #"{"error":"model 'm' not found"}"#)
    }
    #expect(error?.code == .noModel)
    #expect(error?.message.contains("model 'm' not found") == true)
    #expect(error?.hint == "fetch the model: ollama pull m")
  }

  @Test(
    "Refusals have a code for what a client does next",
    arguments: [
      (503, "server busy, please try again", EngineError.Code.busy), (429, "too many", .busy),
      (400, "the input length exceeds the context length", .contextExceeded), (500, "out of memory", .refused),
    ])
  func refusalsHaveACode(status: Int, text: String, code: EngineError.Code) async throws {
    let error = try await failure { _, connection in
      try await connection.reply(status, #"{"error":"\#(text)"}"#)
    }
    #expect(error?.code == code)
  }

  @Test("An error in mid stream is refused") func anErrorInMidStreamIsRefused() async throws {
    let error = try await failure { _, connection in
      try await connection.reply("{\"response\":\"a\",\"done\":false}\n{\"error\":\"out of memory\"}\n")
    }
    #expect(error?.code == .refused)
    #expect(error?.message.contains("out of memory") == true)
  }

  @Test("A stream that ends before done is interrupted") func aStreamThatEndsBeforeDoneIsInterrupted() async throws {
    let error = try await failure { _, connection in
      try await connection.reply("{\"response\":\"a\",\"done\":false}\n")
    }
    #expect(error?.code == .interrupted)
  }

  @Test("A web page is not an Ollama server") func aWebPageIsNoOllama() async throws {
    let error = try await failure { _, connection in try await connection.reply("<html>\n") }
    #expect(error?.code == .badReply)
  }

  @Test(
    "The state follows from the list of models",
    arguments: [
      (nil, #"{"models":[{"name":"a:1b"}]}"#, ModelState.ready),
      (nil, #"{"models":[]}"#, .notInstalled),
      ("a:1b", #"{"models":[{"name":"a:1b"}]}"#, .ready),
      ("a", #"{"models":[{"name":"a:latest"}]}"#, .ready),
      ("hf.co/b/a", #"{"models":[{"name":"hf.co/b/a:latest"}]}"#, .ready),
      ("a", #"{"models":[{"name":"a:1b"}]}"#, .notInstalled),
      ("a", "<html>", .error),
    ])
  func stateFromTheListOfModels(model: String?, tags: String, expected: ModelState) async throws {
    let state = try await FakeEngineServer.run { _, connection in
      try await connection.reply(tags)
    } test: { url in
      try await OllamaEngine(url: url, model: model, limits: .patient).modelState()
    }
    #expect(state == expected)
  }

  @Test(
    "The model and its size are those of the server",
    arguments: [
      (nil, "loaded:1b", 494.03 / 1000), ("first", "first", 8), ("other", "other", nil), ("gone", "gone", nil),
    ] as [(String?, String, Double?)])
  func theModelAndItsSizeAreWhatTheServerTells(model: String?, name: String, size: Double?) async throws {
    let tags = """
      {"models":[{"name":"first:latest","details":{"parameter_size":"8.0B"}},{"name":"loaded:1b"},\
      {"name":"other:latest","details":{"parameter_size":"many"}}]}
      """
    let active = try await FakeEngineServer.run { request, connection in
      try await connection.reply(
        request.path == "/api/ps"
          ? #"{"models":[{"name":"loaded:1b","details":{"parameter_size":"494.03M"}}]}"# : tags)
    } test: { url in
      try await OllamaEngine(url: url, model: model, limits: .patient).activeModel()
    }
    #expect(active?.name == name)
    #expect(active?.billionsOfParameters == size)
  }

  @Test("A server that does not work has no model") func aServerThatDoesNotWorkHasNoModel() async throws {
    let active = try await FakeEngineServer.run { _, connection in
      try await connection.reply("<html>")
    } test: { url in
      try await OllamaEngine(url: url, limits: .patient).activeModel()
    }
    #expect(active == nil)
  }

  private func failure(_ script: @escaping FakeEngineServer.Script) async throws -> EngineError? {
    try await FakeEngineServer.run(script) { url in
      await #expect(throws: EngineError.self) {
        _ = try await collect(OllamaEngine(url: url, model: "m").generate(.init(prompt: "hi", maxTokens: 5)))
      }
    }
  }
}
