import EdgeCoder
import EdgeCoderHTTP
import NIOConcurrencyHelpers
import Testing

@Suite("The connections of an engine", .timeLimit(.minutes(5))) struct KeptConnectionTests {
  private static func reply(_ kind: EngineFaultTests.Kind, _ text: String) -> KeptConnectionServer.Reply {
    switch kind {
    case .ollama: .body(kind.piece(text) + "{\"response\":\"\",\"done\":true}\n")
    case .openAI: .body(kind.piece(text) + "data: [DONE]\n\n")
    }
  }

  private static func text(of engine: any Engine) async throws -> String {
    try await collect(engine.generate(.init(prompt: "hi", maxTokens: 5))).joined()
  }

  @Test("Prompts one after another use one connection", arguments: EngineFaultTests.Kind.allCases)
  func oneConnection(kind: EngineFaultTests.Kind) async throws {
    let connections = NIOLockedValueBox<[Int]>([])
    try await KeptConnectionServer.run { request in
      connections.withLockedValue { $0.append(request.connection) }
      return Self.reply(kind, "a")
    } test: { url in
      let engine = try kind.engine(url: url)
      for _ in 0..<3 {
        #expect(try await Self.text(of: engine) == "a")
        // The consumer has the end of the reply a moment before the connection has it.
        #expect(await engine.modelState() != .notInstalled)
      }
    }
    #expect(Set(connections.withLockedValue { $0 }).count <= 2)
    #expect(connections.withLockedValue { $0.count } >= 6)
  }

  @Test("A prompt that meets the end of a kept connection is sent again", arguments: EngineFaultTests.Kind.allCases)
  func aKeptConnectionThatCloses(kind: EngineFaultTests.Kind) async throws {
    try await KeptConnectionServer.run { request in
      request.connection == 1 && request.number == 2 ? .close : Self.reply(kind, "\(request.connection)")
    } test: { url in
      let engine = try kind.engine(url: url)
      #expect(try await Self.text(of: engine) == "1")
      // Over the second connection, or over the first again if it was not free yet.
      #expect(["1", "2"].contains(try await Self.text(of: engine)))
      #expect(["1", "2"].contains(try await Self.text(of: engine)))
    }
  }

  @Test("A prompt that a new server closes upon is sent once", arguments: EngineFaultTests.Kind.allCases)
  func aNewConnectionThatCloses(kind: EngineFaultTests.Kind) async throws {
    let requests = NIOLockedValueBox(0)
    try await KeptConnectionServer.run { _ in
      requests.withLockedValue { $0 += 1 }
      return .close
    } test: { url in
      let error = await #expect(throws: EngineError.self) { try await Self.text(of: try kind.engine(url: url)) }
      #expect(error?.code == .interrupted)
    }
    #expect(requests.withLockedValue { $0 } == 1)
  }

  @Test("The list of models is read before the first prompt alone") func theListIsReadOnce() async throws {
    let paths = NIOLockedValueBox<[String]>([])
    try await KeptConnectionServer.run { request in
      paths.withLockedValue { $0.append(request.path) }
      switch request.path {
      case "/api/ps": return .body(#"{"models":[{"name":"m"}]}"#)
      case "/v1/models": return .body(#"{"data":[{"id":"m"}]}"#)
      case "/api/generate": return Self.reply(.ollama, "a")
      default: return Self.reply(.openAI, "a")
      }
    } test: { url in
      let engines: [any Engine] = [
        try OllamaEngine(url: url, limits: .patient), try OpenAIEngine(url: url, limits: .patient),
      ]
      for engine in engines {
        for _ in 0..<3 { #expect(try await Self.text(of: engine) == "a") }
      }
    }
    let seen = paths.withLockedValue { $0 }
    #expect(seen.count { $0 == "/api/ps" } == 1)
    #expect(seen.count { $0 == "/v1/models" } == 1)
    #expect(seen.count { $0 == "/api/generate" } == 3)
  }

  @Test("A model that is gone since it was chosen is replaced by another") func aModelThatIsGone() async throws {
    let present = NIOLockedValueBox("first")
    try await KeptConnectionServer.run { request in
      let name = present.withLockedValue { $0 }
      guard request.path == "/api/generate" else { return .body("{\"models\":[{\"name\":\"\(name)\"}]}") }
      let isPresent = String(decoding: request.body, as: UTF8.self).contains("\"model\":\"\(name)\"")
      return isPresent ? Self.reply(.ollama, name) : .body(#"{"error":"model not found"}"#, status: 404)
    } test: { url in
      let engine = try OllamaEngine(url: url, limits: .patient)
      #expect(try await Self.text(of: engine) == "first")
      present.withLockedValue { $0 = "second" }
      #expect(try await Self.text(of: engine) == "second")
    }
  }
}
