import EdgeCoder
import EdgeCoderHTTP
import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import Testing

@Suite(
  "The HTTP API, as Ollama's Python client sees it", .timeLimit(.minutes(5)),
  .enabled(if: PythonScript.has("ollama"), "no ollama in .venv-peers"))
struct RealOllamaClientTests {
  @Test("The official Ollama client understands all replies") func itUnderstandsEverything() async throws {
    let text = "Grüß\u{2028}dich 🐟"
    let service = FakeService(output: text, .counted, parts: [.thinking("hm…")])
    let printed = try await withAPI(service, .live) { client in
      try await PythonScript("ollama_client.py", "http://127.0.0.1:\(try #require(client.port))").read()
    }
    let found = try jsonObject(printed.utf8)
    #expect(found["models"] as? [String] == ["edgecoder:latest"])
    #expect(found["show"] as? String == "edgecoder")
    #expect(found["loaded"] as? [String] == ["edgecoder:latest"])
    #expect(found["pull"] as? String == "success")
    #expect(found["chat"] as? [AnyHashable] == [text, "hm…", "length", 5])
    #expect(found["streamed"] as? String == text)
    #expect(found["thought"] as? String == "hm…")
    #expect((found["end"] as? [Any])?.last as? String == "length")
    #expect(found["embedded"] as? [[Double]] == [[1, -0.5], [3, -0.5]])
    #expect(found["older"] as? [Double] == [2, -0.5])
    #expect((found["unknown model"] as? [Any])?.first as? Int == 404)
    #expect(((found["no image"] as? [Any])?.last as? String)?.contains("is not a PNG") == true)
    #expect(service.requests.last?.details.messages.last?.images.first?.format == .png)
    #expect((found["copy"] as? [Any])?.first as? Int == 501)
    let first = try #require(service.requests.first)
    #expect(first.details.thinking == .on)
    #expect(first.details.options.seed == 7)
    #expect(first.maxTokens == 16)
  }

  @Test("The official Ollama client understands calls of tools") func itUnderstandsCalls() async throws {
    let call = ToolCall(id: "call_1", name: "weather", arguments: #"{"city":"Zürich"}"#)
    let service = FakeService(output: "", Completion(.toolCalls), parts: [.toolCall(call)])
    let printed = try await withAPI(service, .live) { client in
      try await PythonScript("ollama_client.py", "http://127.0.0.1:\(try #require(client.port))", "calls").read()
    }
    let calls = try #require(try jsonObject(printed.utf8)["calls"] as? [[Any]])
    #expect(calls.first?.first as? String == "weather")
    #expect(calls.first?.last as? [String: String] == ["city": "Zürich"])
    #expect(service.requests.first?.details.tools.count == 1)
  }
}

@Suite(
  "The clients of others at the network route to llama.cpp", .timeLimit(.minutes(10)),
  .enabled(if: PythonScript.has("xllamacpp") && PythonScript.has("gguf"), "no xllamacpp in .venv-peers"))
struct RealClientsTests {
  private struct Online: NetworkAvailability {
    var isAvailable: Bool { true }
    // The task group that waits is cancelled with the end of the prompt.
    func waitUntilLost() async { try? await untilCancelled() }
  }

  /// Serves the network route to a real llama.cpp, and passes the addresses of both.
  private func withRoute<Value: Sendable>(
    sees: Bool = false, _ test: @Sendable @escaping (_ api: String, _ server: String) async throws -> Value
  ) async throws -> Value {
    try await RealLlama.run(sees: sees) { _, url in
      let service = RoutedInference(
        phones: FakeService(failing: .init(.noPhoneReady, "no phone")),
        engine: try OpenAIEngine(url: url, limits: .patient), preference: .network, network: Online())
      return try await withAPI(service, .live) { client in
        try await test("http://127.0.0.1:\(try #require(client.port))", url)
      }
    }
  }

  @Test(
    "langchain, litellm, llm and instructor chat, stream and get their schemas",
    .enabled(if: PythonScript.has("litellm", in: ".venv-clients"), "scripts/test clients installs them"))
  func theClientsOfOthers() async throws {
    let printed = try await withRoute { url, _ in
      let home = FileManager.default.temporaryDirectory.appending(path: "clients-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
      defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: home) } }
      return try await PythonScript("clients.py", in: ".venv-clients", writing: home.path, url, home.path).read()
    }
    let found = try jsonObject(printed.utf8)
    #expect(found["langchain_ollama"] as? [AnyHashable] == ["yes", "length", 8, "yes", "yes", "yes"])
    #expect(found["langchain_openai"] as? [AnyHashable] == ["yes", "length", 8, "yes", "yes"])
    // Of a prompt to Ollama's /api/generate litellm itself says `stop`, whatever the reason.
    #expect(
      found["litellm"] as? [String] == ["yes", "length", "yes", "yes", "stop", "yes", "yes", "length", "yes"])
    #expect(found["llm"] as? [String] == ["yes", "yes"])
    #expect(found["instructor"] as? [String] == ["yes"])
  }

  @Test(
    "The older lines of OpenAI's client chat and stream",
    .enabled(if: older.allSatisfy { PythonScript.has("openai", in: $0) }, "scripts/test clients installs them"),
    arguments: older)
  func theOlderClients(environment: String) async throws {
    let printed = try await withRoute { url, _ in
      try await PythonScript("openai_older.py", in: environment, url).read()
    }
    let found = try jsonObject(printed.utf8)
    #expect(found["whole"] as? [AnyHashable] == ["yes", "length", 8])
    #expect(found["streamed"] as? [AnyHashable] == ["yes", 8])
    #expect(found["models"] as? [String] == ["edgecoder"])
  }

  @Test(
    "A model sees what Ollama's and OpenAI's clients attach",
    .enabled(if: ["ollama", "openai"].allSatisfy { PythonScript.has($0) }, "no clients in .venv-peers"))
  func aModelSeesPictures() async throws {
    let printed = try await withRoute(sees: true) { try await PythonScript("pictures.py", $0, $1).read() }
    let pictures = try #require(try jsonObject(printed.utf8)["pictures"] as? [[String: [AnyHashable]]])
    #expect(pictures.count == 2)
    for picture in pictures {
      #expect(picture["ollama"] == picture["server"])
      #expect(picture["openai"] == picture["server"])
    }
    #expect(pictures.first?["server"]?.first != pictures.last?["server"]?.first)
  }

  @Test(
    "A model that does not see refuses what clients attach",
    .enabled(if: ["ollama", "openai"].allSatisfy { PythonScript.has($0) }, "no clients in .venv-peers"))
  func aBlindModelRefusesPictures() async throws {
    let printed = try await withRoute { try await PythonScript("pictures.py", $0, $1).read() }
    let pictures = try #require(try jsonObject(printed.utf8)["pictures"] as? [[String: [AnyHashable]]])
    for client in ["ollama", "openai"] {
      #expect(pictures.map { $0[client]?.first } == [400, 400])
      #expect((pictures.first?[client]?.last as? String)?.contains("image input is not supported") == true)
    }
  }
}

/// The environments with the older lines of OpenAI's client.
private let older = [".venv-openai-1", ".venv-openai-2"]
