import AgentHTTP
import Foundation
import Testing

/// Faults whose errors would show a secret.
@Suite("Secrets in errors", .timeLimit(.minutes(5))) struct SecretAttacks {
  @Test("A token that no header may contain is not part of the error", arguments: ["MARKED\u{1}", "MARKED\r\nx: y"])
  func anInvalidTokenStaysSecret(token: String) async throws {
    let transport = try HTTPTransport(url: "http://127.0.0.1:9")
    let error = await #expect(throws: (any Error).self) {
      try await transport.post("/tasks", headers: [("authorization", "Bearer \(token)")], body: Data())
    }
    let text = error.map { "\($0) \(String(reflecting: $0))" } ?? ""
    #expect(!text.isEmpty)
    #expect(!text.contains("MARKED"))
  }
}
