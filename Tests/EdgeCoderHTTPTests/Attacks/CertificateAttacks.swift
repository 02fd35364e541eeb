import EdgeCoder
import EdgeCoderHTTP
import SystemTesting
import Testing

/// Servers that pose as an engine or as a central, with a certificate of an authority that is not trusted.
@Suite(
  "Certificates that are not an engine's or a central's",
  .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"), .timeLimit(.minutes(5)))
struct CertificateAttacks {
  /// Whoever reads that no server answers may look for it without TLS.
  @Test("An engine and a central without a trusted certificate are named as that, and get no prompt")
  func theReasonIsNamed() async throws {
    let authority = try await TestAuthority()
    let server = try await authority.server(named: "DNS:localhost")
    defer { server.process.kill() }
    let url = "https://localhost:\(server.port)"
    let reason = "cannot be trusted: its certificate is out of date, or from an unknown authority"
    // The handshake of a busy machine may take more than two seconds, and would then be no answer.
    let limits = EngineLimits(connect: .seconds(60))
    let engines: [any Engine] = [
      try OllamaEngine(url: url, model: "m", limits: limits), try OpenAIEngine(url: url, model: "m", limits: limits),
    ]
    for engine in engines {
      let error = await #expect(throws: EngineError.self) {
        for try await _ in engine.generate(.init(prompt: "hi", maxTokens: 5)) {}
      }
      #expect(error?.code == .unreachable)
      #expect(error?.message == "the model server \(reason)")
    }
    let error = await #expect(throws: CentralClientError.self) {
      try await CentralClient(url: url).generate(prompt: "hi", maxTokens: nil)
    }
    #expect(error?.code == .unreachable)
    #expect(error?.message == "\(url) \(reason)")
  }
}
