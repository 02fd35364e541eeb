import EdgeCoder
import EdgeCoderHTTP
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOConcurrencyHelpers
import Testing

@Suite("Embeddings", .timeLimit(.minutes(5))) struct EmbeddingTests {
  @Test("Ollama clients get the vectors and the counts of the engine") func ollama() async throws {
    let service = FakeService(output: "")
    try await withAPI(service) { client in
      let reply = try await client.post("/api/embed", #"{"model":"edgecoder","input":["a","bcd"]}"#).json()
      #expect(reply["embeddings"] as? [[Double]] == [[1, -0.5], [3, -0.5]])
      #expect(reply["prompt_eval_count"] as? Int == 7)
      #expect(reply["load_duration"] as? Int == 11)
      #expect(reply["model"] as? String == "edgecoder")
      let older = try await client.post("/api/embeddings", #"{"model":"edgecoder","prompt":"ab"}"#).json()
      #expect(older["embedding"] as? [Double] == [2, -0.5])
    }
    #expect(service.embeddingRequests.map(\.texts) == [["a", "bcd"], ["ab"]])
  }

  @Test("OpenAI clients get the vectors as numbers or in base64") func openAI() async throws {
    try await withAPI(FakeService(output: "")) { client in
      let reply = try await client.post("/v1/embeddings", #"{"input":["a"],"encoding_format":"float"}"#).json()
      let item = try #require((reply["data"] as? [[String: Any]])?.first)
      #expect(item["embedding"] as? [Double] == [1, -0.5])
      #expect(reply["usage"] as? [String: Int] == ["prompt_tokens": 7, "total_tokens": 7])
      let packed = try await client.post("/v1/embeddings", #"{"input":"a","encoding_format":"base64"}"#).json()
      let text = try #require((packed["data"] as? [[String: Any]])?.first?["embedding"] as? String)
      // 1.0 and -0.5 as little-endian floats.
      #expect(Data(base64Encoded: text) == Data([0, 0, 0x80, 0x3f, 0, 0, 0, 0xbf]))
    }
  }

  @Test("Where there are none they are refused in the words that clients know") func phones() async throws {
    struct Phones: InferenceService {
      func generate(
        _ request: InferenceRequest, onPart: @Sendable @escaping (ReplyPart) async -> Void
      ) async throws -> InferenceReply { throw InferenceError(.noPhoneReady, "none") }
      func status() async -> CentralStatus { CentralStatus(connected: false, scanning: true) }
    }
    try await withAPI(Phones()) { client in
      for (path, body) in [
        ("/api/embed", #"{"input":"a"}"#), ("/api/embeddings", #"{"prompt":"a"}"#),
        ("/v1/embeddings", #"{"input":"a"}"#),
      ] {
        let response = try await client.post(path, body)
        #expect(response.status == .badRequest)
        #expect(try response.errorText()?.contains("does not support embeddings") == true)
      }
    }
  }

  @Test(
    "A body that asks for nothing that is possible is refused",
    arguments: [
      #"{"input":[]}"#, #"{"input":[[1,2]]}"#, #"{}"#, #"{"input":"a","dimensions":0}"#, #"{"input":"a","model":"x"}"#,
    ])
  func refusals(body: String) async throws {
    let service = FakeService(output: "")
    try await withAPI(service) { client in
      let expected: HTTPResponse.Status = body.contains("model") ? .notFound : .badRequest
      let response = try await client.post("/v1/embeddings", body)
      #expect(response.status == expected)
    }
    #expect(service.embeddingRequests.isEmpty)
  }

  @Test("The engines ask their servers, and pass on what these count") func engines() async throws {
    let bodies = NIOLockedValueBox<[String]>([])
    try await KeptConnectionServer.run { request in
      bodies.withLockedValue { $0.append(String(decoding: request.body, as: UTF8.self)) }
      return request.path == "/api/embed"
        ? .body(#"{"embeddings":[[0.25],[1]],"load_duration":5,"prompt_eval_count":3}"#)
        : .body(#"{"data":[{"index":1,"embedding":[1]},{"index":0,"embedding":[0.25]}],"usage":{"prompt_tokens":3}}"#)
    } test: { url in
      var request = EmbeddingRequest(texts: ["a", "b"])
      request.dimensions = 1
      request.truncates = false
      for engine in [try OllamaEngine(url: url, model: "m"), try OpenAIEngine(url: url, model: "m")] as [any Engine] {
        let embeddings = try await engine.embed(request)
        #expect(embeddings.vectors == [[0.25], [1]])
        #expect(embeddings.promptTokens == 3)
      }
    }
    #expect(
      bodies.withLockedValue { $0 } == [
        #"{"model":"m","input":["a","b"],"truncate":false,"dimensions":1}"#,
        #"{"model":"m","input":["a","b"],"encoding_format":"float","dimensions":1}"#,
      ])
  }

  @Test(
    "A server without embeddings, or with too few, is an error",
    arguments: [
      (501, #"{"error":{"message":"This server does not support embeddings."}}"#, EngineError.Code.unsupported),
      (404, #"{"error":"not found"}"#, .unsupported), (200, #"{"data":[]}"#, .badReply), (200, "x", .badReply),
    ])
  func withoutEmbeddings(status: Int, body: String, code: EngineError.Code) async throws {
    try await KeptConnectionServer.run { _ in
      .body(body, status: status)
    } test: { url in
      let error = await #expect(throws: EngineError.self) {
        try await OpenAIEngine(url: url, model: "m").embed(EmbeddingRequest(texts: ["a"]))
      }
      #expect(error?.code == code)
    }
  }
}
