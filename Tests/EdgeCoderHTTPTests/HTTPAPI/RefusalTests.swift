import EdgeCoder
import EdgeCoderTesting
import Foundation
import HTTPTypes
import HummingbirdTesting
import SystemTesting
import Testing

@testable import EdgeCoderHTTP

@Suite("Refusals, as the clients of each family act on them", .timeLimit(.minutes(5))) struct RefusalTests {
  private static let ollama = [
    ("/api/generate", #"{"model":"edgecoder","prompt":"hi"}"#),
    ("/api/chat", #"{"messages":[{"role":"user","content":"hi"}]}"#),
  ]
  private static let openAI = [
    ("/v1/chat/completions", #"{"messages":[{"role":"user","content":"hi"}]}"#),
    ("/v1/completions", #"{"prompt":"hi"}"#),
  ]

  /// A service that refuses every prompt, as a phone does.
  private static func phone(_ kind: Answer.Refusal.Kind, _ reason: String = "because") -> FakeService {
    FakeService { _ in
      InferenceReply(id: "1", answer: .refusal(.init(kind, reason)), durationMs: 1, phone: "Pixel")
    }
  }

  @Test(
    "A refusal of a phone has the status of its kind",
    arguments: [
      (Answer.Refusal.Kind.failed, 502), (.cancelled, 502), (.noModel, 503), (.refused, 413), (.contextExceeded, 400),
      (.unsupported, 400),
    ])
  func aRefusalHasTheStatusOfItsKind(kind: Answer.Refusal.Kind, status: Int) async throws {
    try await withAPI(Self.phone(kind)) { client in
      for (path, body) in Self.ollama + Self.openAI {
        for streams in [false, true] {
          let response = try await client.post(path, String(body.dropLast()) + #","stream":\#(streams)}"#)
          #expect(response.status.code == status, "\(path)")
          #expect(try response.errorText() == "the phone could not answer: because")
        }
      }
    }
  }

  @Test("Who is refused as busy is told to try again, by a phone and by a central", arguments: [true, false])
  func busy(byPhone: Bool) async throws {
    let service =
      byPhone ? Self.phone(.busy, "busy: 16 requests are waiting") : FakeService(failing: .init(.busy, "too many"))
    try await withAPI(service) { client in
      for (path, body) in Self.ollama + Self.openAI {
        let response = try await client.post(path, body)
        #expect(response.status.code == (path.hasPrefix("/v1") ? 429 : 503), "\(path)")
        #expect(response.headers[.retryAfter] == "1")
        #expect(response.headers[.shouldRetry] == "true")
        #expect(try response.errorText() == (byPhone ? "the phone is busy: 16 requests are waiting" : "too many"))
      }
    }
  }

  @Test("OpenAI clients read the codes that they know") func codes() async throws {
    for (kind, code) in [
      (Answer.Refusal.Kind.contextExceeded, "context_length_exceeded"), (.busy, "rate_limit_exceeded"),
    ] {
      let response = try await withAPI(Self.phone(kind)) { try await $0.post(Self.openAI[0].0, Self.openAI[0].1) }
      #expect((try response.json()["error"] as? [String: Any])?["code"] as? String == code)
    }
  }

  @Test(
    "A refusal of a model server has the status of its kind",
    arguments: [
      (EngineError.Code.busy, 503, 429), (.noModel, 503, 503), (.contextExceeded, 400, 400), (.refused, 502, 502),
    ])
  func modelServers(code: EngineError.Code, ollama: Int, openAI: Int) async throws {
    let engine = GatedEngine()
    let service = RoutedInference(
      phones: FakeService(output: "by radio"), engine: engine, preference: .network, network: EverOnline())
    try await withAPI(service) { client in
      for (path, body) in [Self.ollama[0], Self.openAI[0]] {
        async let response = client.post(path, body)
        try await engine.next().fail(EngineError(code, "the model server: no"))
        #expect(try await response.status.code == (path.hasPrefix("/v1") ? openAI : ollama))
      }
    }
  }

  @Test("The kind survives the way from the engine, over each bearer", arguments: [nil, MuxBearer.l2cap])
  func theKindSurvives(bearer: MuxBearer?) async throws {
    let air = LoopbackCentral()
    let phone = LoopbackPhone(muxBearers: bearer.map { [$0] } ?? [])
    let engine = GatedEngine()
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    let central = Central(scanner: air, connector: air, configuration: configuration)
    let service = PhoneService(transport: phone, engine: engine)
    try await running([service.run, central.run]) {
      air.see(phone)
      try await eventually { await central.status().phones.first?.state == "ready" }
      for (code, kind) in [
        (EngineError.Code.busy, Answer.Refusal.Kind.busy), (.noModel, .noModel), (.timedOut, .failed),
        (.contextExceeded, bearer == nil ? .failed : .contextExceeded),
      ] {
        async let reply = central.generate(prompt: "x", maxTokens: nil)
        try await engine.next().fail(EngineError(code, "because"))
        #expect(try await reply.answer.refusal?.kind == kind)
      }
    }
  }

  @Test("A client in another process reads the errors of a model server") func anotherProcess() async throws {
    for code in [InferenceError.Code.noModel, .contextExceeded, .modelFailed, .networkLost] {
      let error = try await withAPI(FakeService(failing: InferenceError(code, "because")), .live) { http in
        let client = CentralClient(url: "http://127.0.0.1:\(try #require(http.port))")
        return await #expect(throws: InferenceError.self) { try await client.generate(prompt: "x", maxTokens: nil) }
      }
      #expect(error?.code == code)
    }
  }
}

/// A network that is never lost.
private struct EverOnline: NetworkAvailability {
  var isAvailable: Bool { true }
  func waitUntilLost() async {
    do { try await untilCancelled() } catch {}
  }
}
