import EdgeCoder
import EdgeCoderHTTP
import Foundation
import JSONValues
import NIOConcurrencyHelpers
import Testing

@Suite("What engines send of a request with details", .timeLimit(.minutes(5))) struct EngineDetailsTests {
  private static let schema = #"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}"#
  private static let tool = #"{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}"#
  private static let other = #"{"type":"function","function":{"name":"time","parameters":{"type":"object"}}}"#

  private static func request() throws -> InferenceRequest {
    var call = ChatMessage(.assistant, "")
    call.toolCalls = [ToolCall(id: "call_1", name: "weather", arguments: #"{"z":1,"a":2}"#)]
    var result = ChatMessage(.tool, "rain")
    result.toolCallID = "call_1"
    result.toolName = "weather"
    var request = InferenceRequest(messages: [ChatMessage(.system, "S"), ChatMessage(.user, "hi"), call, result])
    request.details.options.seed = 7
    request.details.options.topK = 3
    request.details.options.contextLength = 8192
    request.details.format = .schema(try JSONValue(parsing: Array(schema.utf8)), isStrict: true)
    request.details.tools = try [tool, other].map { try JSONValue(parsing: Array($0.utf8)) }
    return request
  }

  /// Runs a request at a server that answers the n-th one with the n-th reply.
  private func run(
    _ replies: [(Int, String)], _ engine: @Sendable @escaping (String) throws -> any Engine, _ request: InferenceRequest
  ) async throws -> (bodies: [(path: String, body: String)], outputs: [EngineOutput]) {
    let seen = NIOLockedValueBox<[(path: String, body: String)]>([])
    let outputs = try await FakeEngineServer.run { request, connection in
      let number = seen.withLockedValue { seen in
        seen.append((request.path, String(decoding: request.body, as: UTF8.self)))
        return seen.count - 1
      }
      let reply = replies[min(number, replies.count - 1)]
      try await connection.reply(reply.0, reply.1)
    } test: { url in
      var outputs: [EngineOutput] = []
      for try await output in try engine(url).generate(request) { outputs.append(output) }
      return outputs
    }
    return (seen.withLockedValue { $0 }, outputs)
  }

  @Test("Ollama gets messages, options, format and tools, in their order") func ollama() async throws {
    let reply =
      #"{"message":{"role":"assistant","content":"so","tool_calls":[{"function":{"name":"weather","arguments":{"z":1,"a":2}}}]},"done":false}"#
      + "\n" + #"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":5}"# + "\n"
    let (bodies, outputs) = try await run([(200, reply)], { try OllamaEngine(url: $0, model: "m") }, Self.request())
    let sent = try #require(bodies.first)
    #expect(sent.path == "/api/chat")
    #expect(sent.body.contains(#""format":"# + Self.schema))
    #expect(sent.body.contains(#""tools":[\#(Self.tool),\#(Self.other)]"#))
    #expect(
      sent.body.contains(#""tool_calls":[{"id":"call_1","function":{"name":"weather","arguments":{"z":1,"a":2}}}]"#))
    #expect(sent.body.contains(#""tool_name":"weather""#))
    let options = try #require(try jsonObject(sent.body.utf8)["options"] as? [String: Int])
    #expect(options == ["seed": 7, "top_k": 3, "num_ctx": 8192])
    guard case .toolCall(let call) = outputs.dropFirst().first else {
      Issue.record("no call: \(outputs)")
      return
    }
    #expect(outputs.first == .text("so"))
    #expect(call.name == "weather")
    #expect(call.arguments == #"{"z":1,"a":2}"#)
    #expect(!call.id.isEmpty)
    guard case .end(let end) = outputs.last else {
      Issue.record("no end: \(outputs)")
      return
    }
    #expect(end.reason == .toolCalls)
    #expect(end.replyTokens == 5)
  }

  private static let pieces = [
    #"{"choices":[{"delta":{"role":"assistant","content":null}}]}"#,
    #"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":""}}]}}]}"#,
    #"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]}"#,
    #"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"time","arguments":"{}"}}]}}]}"#,
    #"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
    #"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#, "[DONE]",
  ].map { "data: \($0)\n\n" }.joined()

  @Test("OpenAI's servers get messages, options, format and tools, in their order") func openAI() async throws {
    var request = try Self.request()
    request.details.toolChoice = .tool("time")
    let (bodies, outputs) = try await run([(200, Self.pieces)], { try OpenAIEngine(url: $0, model: "m") }, request)
    let sent = try #require(bodies.first)
    #expect(sent.path == "/v1/chat/completions")
    #expect(
      sent.body.contains(
        #""response_format":{"type":"json_schema","json_schema":{"name":"reply","schema":\#(Self.schema),"strict":true}}"#
      ))
    #expect(sent.body.contains(#""tools":[\#(Self.other)],"tool_choice":"required""#))
    #expect(sent.body.contains(#""arguments":"{\"z\":1,\"a\":2}""#))
    #expect(sent.body.contains(#""tool_call_id":"call_1""#))
    #expect(sent.body.contains(#""seed":7"#))
    #expect(sent.body.contains(#""top_k":3"#))
    #expect(!sent.body.contains("num_ctx"))
    #expect(
      outputs == [
        .toolCall(ToolCall(id: "c1", name: "weather", arguments: #"{"a":1}"#)),
        .toolCall(ToolCall(id: "c2", name: "time", arguments: "{}")), .end(Completion(.toolCalls)),
      ])
  }

  private static func picture() throws -> InferenceRequest {
    let base64 = ["iVBORw0KGgo=", "R0lGODlhAQAB"]
    let files = base64.compactMap { Data(base64Encoded: $0).map(Array.init) }
    var message = ChatMessage(.user, "first second")
    message.images = [ChatImage(files[0]), ChatImage(files[1], offset: 6)].compactMap { $0 }
    return InferenceRequest(messages: [message])
  }

  @Test("Ollama gets a message for each picture within a text") func picturesForOllama() async throws {
    let reply = #"{"message":{"role":"assistant","content":"a door"},"done":true,"done_reason":"stop"}"# + "\n"
    let (bodies, _) = try await run([(200, reply)], { try OllamaEngine(url: $0, model: "m") }, Self.picture())
    let sent = try #require(bodies.first)
    #expect(sent.path == "/api/chat")
    #expect(
      sent.body.contains(
        #""messages":[{"role":"user","content":"first ","images":["iVBORw0KGgo="]},"#
          + #"{"role":"user","content":"second","images":["R0lGODlhAQAB"]}]"#))
  }

  @Test("OpenAI's servers get pictures as parts between those of the text") func picturesForOpenAI() async throws {
    let done = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
    let (bodies, _) = try await run([(200, done)], { try OpenAIEngine(url: $0, model: "m") }, Self.picture())
    let sent = try #require(bodies.first)
    #expect(
      sent.body.contains(
        #""content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},"#
          + #"{"type":"text","text":"first "},"#
          + #"{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlhAQAB"}},"#
          + #"{"type":"text","text":"second"}]"#))
  }

  @Test(
    "A model that cannot see is not supported",
    arguments: [
      (500, #"{"error":{"message":"image input is not supported - hint: you may need to provide the mmproj"}}"#, false),
      (500, #"{"error":"this model is missing data required for image input"}"#, true), (404, "not found", false),
    ])
  func aModelThatCannotSee(status: Int, body: String, isOllama: Bool) async throws {
    let engine: @Sendable (String) throws -> any Engine = { url in
      isOllama ? try OllamaEngine(url: url, model: "m") : try OpenAIEngine(url: url, model: "m")
    }
    let request = try Self.picture()
    let error = await #expect(throws: EngineError.self) { _ = try await run([(status, body)], engine, request) }
    #expect(error?.code == .unsupported)
  }

  @Test("Options that a server refuses are left out, and named") func refusedOptions() async throws {
    var request = InferenceRequest(prompt: "hi")
    request.details.options.topK = 3
    request.details.options.temperature = 0
    let done = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
    let refusal = #"{"error":{"message":"Unrecognized request argument supplied: top_k"}}"#
    let (bodies, outputs) = try await run(
      [(400, refusal), (200, done)], { try OpenAIEngine(url: $0, model: "m") }, request)
    #expect(bodies.count == 2)
    #expect(bodies.last?.body.contains("top_k") == false)
    #expect(bodies.last?.body.contains("temperature") == true)
    #expect(outputs == [.ignored([.topK]), .text("ok"), .end(Completion(.stop))])
  }

  @Test(
    "A model without tools is not supported",
    arguments: [
      (400, #"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#, true),
      (500, #"{"error":{"message":"tools param requires --jinja flag"}}"#, false), (404, "not found", false),
    ])
  func aModelWithoutTools(status: Int, body: String, isOllama: Bool) async throws {
    let engine: @Sendable (String) throws -> any Engine = { url in
      if isOllama { return try OllamaEngine(url: url, model: "m") }
      return try OpenAIEngine(url: url, model: "m")
    }
    let request = try Self.request()
    let error = await #expect(throws: EngineError.self) { _ = try await run([(status, body)], engine, request) }
    #expect(error?.code == .unsupported)
    #expect(error?.message.contains("does not support") == true)
  }
}
