import EdgeCoderHTTP
import Testing

/// Servers that quote the key that they were given.
@Suite("Keys in the errors of engines", .timeLimit(.minutes(5))) struct SecretAttacks {
  @Test(
    "A key that the server quotes is not part of the error",
    arguments: [
      (401, #"{"error": {"message": "Incorrect API key provided: KEY"}}"#), (403, #"{"error": "KEY\/x"}"#),
      (500, "KEY"), (200, #"{"error": {"message": "KEY"}}"#), (200, #"{"choices": KEY"#), (302, "KEY"),
    ])
  func quotedKeysAreRemoved(status: Int, body: String) async throws {
    let key = "sk-MARKED/secret"
    let body = body.replacing("KEY", with: key)
    try await FakeEngineServer.run { request, connection in
      #expect(request.headers.values.contains("Bearer \(key)"))
      try await connection.reply(status, body)
    } test: { url in
      let engine = try OpenAIEngine(url: url, model: "m", apiKey: APIKey(key))
      let error = await #expect(throws: (any Error).self) {
        for try await _ in engine.generate(.init(prompt: "hi", maxTokens: 5)) {}
      }
      let text = error.map { "\($0) \(String(reflecting: $0))" } ?? ""
      #expect(!text.isEmpty)
      #expect(!text.contains("MARKED"), "\(text)")
    }
  }
}
