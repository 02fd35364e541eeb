import Agent
import AgentHTTP
import Foundation
import SystemTesting
import Testing

/// Servers that pose as a coordinator, with certificates of an authority that the user trusts.
@Suite(
  "Certificates that are not a coordinator's",
  .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"), .timeLimit(.minutes(2)))
struct CertificateAttacks {
  @Test(
    "A certificate for another host name and one that has expired end the connection before the request",
    arguments: [("DNS:coordinator.example", 2, "one for another host name"), ("DNS:localhost", -1, "out of date")])
  func requestsAreNotSent(name: String, days: Int, reason: String) async throws {
    let authority = try await TestAuthority()
    let server = try await authority.server(named: name, days: days)
    defer { server.process.kill() }
    let transport = try HTTPTransport(
      url: "https://localhost:\(server.port)", certificates: authority.certificate)
    let error = await #expect(throws: CoordinatorTransportError.self) {
      _ = try await transport.post("/heartbeat", headers: [("x-mesh-token", "t")], body: Data("{}".utf8))
    }
    #expect(error?.isUntrusted == true, "\(error as Any)")
    #expect(error?.mayHaveArrived == false, "\(error as Any)")
    #expect(error?.description.contains(reason) == true, "\(error as Any)")
  }
}
