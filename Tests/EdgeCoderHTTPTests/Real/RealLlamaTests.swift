import EdgeCoder
import EdgeCoderHTTP
import EdgeCoderTesting
import Foundation
import HTTPTypes
import HummingbirdTesting
import SystemTesting
import Testing

@Suite(
  "The OpenAI engine at llama.cpp's own server", .timeLimit(.minutes(5)), .serialized,
  .enabled(if: PythonScript.has("xllamacpp") && PythonScript.has("gguf"), "no xllamacpp in .venv-peers"))
struct RealLlamaTests {
  private func withLlama<Value>(context: Int = 65536, _ test: (PythonScript, String) async throws -> Value) async throws
    -> Value
  {
    try await RealLlama.run(context: context, test)
  }

  @Test("A real llama.cpp server streams up to the token limit") func itAnswersInPiecesUpToTheLimit() async throws {
    try await withLlama { _, url in
      let engine = try OpenAIEngine(url: url, limits: .patient)
      #expect(await engine.modelState() == .ready)
      let pieces = try await collect(engine.generate(.init(prompt: "hallo", maxTokens: 12)))
      #expect(pieces.count > 6)
      #expect(pieces.count <= 12)
      #expect(!pieces.joined().isEmpty)
      // Byte tokens never come, so nothing had to be replaced.
      #expect(!pieces.joined().contains("\u{fffd}"))
      let end = try #require(try await completion(of: engine.generate(.init(prompt: "hallo", maxTokens: 12))))
      #expect(end.reason == .length)
      #expect(end.replyTokens == 12)
      #expect((end.promptTokens ?? 0) > 0)
      #expect((end.replyTime ?? .zero) > .zero)
    }
  }

  @Test("Its reason, counts and times reach HTTP clients over a phone with the v2 mux") func theEndReachesClients()
    async throws
  {
    try await withLlama { _, url in
      let phone = LoopbackPhone(muxBearers: [.l2cap])
      let air = LoopbackCentral()
      let central = Central(scanner: air, connector: air)
      let service = PhoneService(transport: phone, engine: try OpenAIEngine(url: url, limits: .patient))
      try await running([service.run, central.run]) {
        air.see(phone)
        try await eventually { await central.status().phones.first?.linkVersion == 2 }
        try await eventually { await central.status().modelState == "ready" }
        try await withAPI(central) { client in
          let body = #"{"model":"edgecoder","prompt":"hallo","stream":false,"options":{"num_predict":7}}"#
          let json = try await client.post("/api/generate", body).json()
          #expect(json["done_reason"] as? String == "length")
          #expect(json["eval_count"] as? Int == 7)
          let parts = ["eval_duration", "prompt_eval_duration"].compactMap { json[$0] as? Int }
          #expect(parts.count == 2)
          #expect(parts.reduce(0, +) <= json["total_duration"] as? Int ?? 0)
        }
      }
    }
  }

  @Test("A schema and options of a client bind the model of a phone") func aSchemaBindsTheModel() async throws {
    try await withLlama { _, url in
      let phone = LoopbackPhone(muxBearers: [.gatt])
      let air = LoopbackCentral()
      let central = Central(scanner: air, connector: air)
      let service = PhoneService(transport: phone, engine: try OpenAIEngine(url: url, limits: .patient))
      try await running([service.run, central.run]) {
        air.see(phone)
        try await eventually { await central.status().modelState == "ready" }
        try await withAPI(central) { client in
          let body = """
            {"messages":[{"role":"system","content":"hallo"},{"role":"user","content":"hallo"}],"max_tokens":64,"seed":7,
             "temperature":1,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"enum":[true]}}}}
            """
          let response = try await client.post("/v1/chat/completions", body)
          let choice = (try response.json()["choices"] as? [[String: Any]])?.first
          #expect((choice?["message"] as? [String: Any])?["content"] as? String == "true", "\(response.text)")
          let ignored = HTTPField.Name("edgecoder-ignored")
          #expect(ignored.map { response.headers[$0] } == .some(nil))
        }
      }
    }
  }

  @Test("A prompt beyond the context is refused with the reason") func aPromptBeyondTheContextIsRefusedWithTheReason()
    async throws
  {
    try await withLlama(context: 256) { _, url in
      let prompt = String(repeating: "hallo ", count: 500)
      let error = await #expect(throws: EngineError.self) {
        _ = try await collect(OpenAIEngine(url: url, limits: .patient).generate(.init(prompt: prompt, maxTokens: 12)))
      }
      #expect(error?.code == .contextExceeded)
      #expect(error?.message.contains("context size") == true)
    }
  }

  /// The server has one slot: a request that went on after its cancellation, for minutes, would hold up the next.
  @Test("A cancelled request frees its slot") func aCancelledRequestFreesItsSlot() async throws {
    try await withLlama { _, url in
      let engine = try OpenAIEngine(url: url, limits: EngineLimits(firstPiece: .seconds(15), state: .seconds(20)))
      for try await _ in engine.generate(.init(prompt: "hallo", maxTokens: 60_000)) { break }
      let pieces = try await collect(engine.generate(.init(prompt: "hallo", maxTokens: 3)))
      #expect(!pieces.isEmpty)
    }
  }

  @Test("A server killed in mid stream is interrupted and then missing")
  func aServerKilledInMidStreamIsInterruptedAndThenMissing() async throws {
    try await withLlama { server, url in
      let engine = try OpenAIEngine(url: url, limits: EngineLimits(idle: .seconds(20), state: .seconds(20)))
      let error = await #expect(throws: EngineError.self) {
        // Minutes of text, so the server dies while we read.
        for try await _ in engine.generate(.init(prompt: "hallo", maxTokens: 60_000)) { server.kill() }
      }
      #expect(error?.code == .interrupted)
      #expect(await engine.modelState() == .notInstalled)
    }
  }
}
