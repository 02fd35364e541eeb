import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import SystemTesting
import Testing

@Suite(
  "The HTTP API, as JavaScript clients see it", .timeLimit(.minutes(5)),
  .enabled(if: JavaScriptClients.areFetched, "scripts/test clients fetches them, where npm is"))
struct RealJavaScriptClientTests {
  @Test("The official Ollama client for JavaScript understands all replies") func ollamaUnderstandsEverything()
    async throws
  {
    let text = "Grüß\u{2028}dich 🐟"
    let service = FakeService(output: text, .counted, parts: [.thinking("hm…")])
    let found = try await JavaScriptClients.run("ollama_client.cjs", at: service)
    #expect(found["models"] as? [String] == ["edgecoder:latest"])
    #expect(found["show"] as? String == "edgecoder")
    #expect(found["loaded"] as? [String] == ["edgecoder:latest"])
    #expect(found["pull"] as? String == "success")
    #expect(found["chat"] as? [AnyHashable] == [text, "hm…", "length", 5])
    #expect(found["streamed"] as? [String] == [text, "hm…"])
    #expect(found["end"] as? String == "length")
    #expect(found["generated"] as? String == text)
    #expect(found["embedded"] as? [[Double]] == [[1, -0.5], [3, -0.5]])
    #expect(found["seen"] as? String == text)
    #expect((found["unknown model"] as? [Any])?.first as? Int == 404)
    #expect((found["copy"] as? [Any])?.first as? Int == 501)
    #expect(found["after"] as? String == text)
    #expect(service.requests.first?.details.options.seed == 7)
    #expect(service.requests.contains { $0.details.messages.last?.images.first?.format == .png })
  }

  @Test("The official OpenAI client for JavaScript understands all replies") func openAIUnderstandsEverything()
    async throws
  {
    let text = "Grüß\u{2028}dich 🐟"
    let found = try await JavaScriptClients.run("openai_client.cjs", at: FakeService(output: text, .counted))
    #expect(found["models"] as? [String] == ["edgecoder"])
    #expect(found["chat"] as? [AnyHashable] == [text, "length", 8])
    #expect(found["streamed"] as? String == text)
    #expect(found["usage"] as? Int == 8)
    #expect(found["response"] as? [String] == ["incomplete", text])
    let kinds = try #require(found["kinds"] as? [String])
    #expect(kinds.first == "response.created")
    #expect(kinds.last == "response.incomplete")
    #expect(kinds.contains("response.output_text.delta"))
    #expect(found["embedded"] as? [[Double]] == [[1, -0.5], [3, -0.5]])
    #expect(found["unknown model"] as? [AnyHashable] == ["NotFoundError", 404, "model_not_found"])
    #expect(found["bad request"] as? [AnyHashable] == ["BadRequestError", 400, "invalid_request"])
  }
}

/// The clients that `scripts/javascript-peers` fetches.
private enum JavaScriptClients {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let folder = root.appending(path: ".venv-javascript")

  static var areFetched: Bool {
    FileManager.default.fileExists(atPath: folder.appending(path: "fetched.json").path)
      && ChildProcess.path(of: "node") != nil
  }

  /// Runs a script of `Tests/EdgeCoderHTTPTests/JavaScript` at the API of a service.
  /// - Returns: What it has understood.
  static func run(_ script: String, at service: FakeService) async throws -> [String: Any] {
    let path = root.appending(path: "Tests/EdgeCoderHTTPTests/JavaScript/\(script)").path
    let outcome = try await withAPI(service, .live) { client in
      let address = "http://127.0.0.1:\(try #require(client.port))"
      let command = UnprivilegedCommand("node", [path, folder.path, address])
      return await (try ChildProcess(command.program, command.arguments)).outcome()
    }
    try #require(outcome.status == 0, "\(outcome.errors)")
    return try jsonObject(outcome.output.utf8)
  }
}
