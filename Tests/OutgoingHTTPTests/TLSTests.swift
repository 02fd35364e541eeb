import AsyncHTTPClient
import IncomingHTTP
import NIOCore
import NIOPosix
import NIOSSL
import SystemTesting
import Testing

@testable import OutgoingHTTP

@Suite(
  "The versions of TLS", .enabled(if: ChildProcess.path(of: "openssl") != nil, "needs openssl"),
  .timeLimit(.minutes(5)))
struct TLSTests {
  private func request(_ port: Int, _ certificate: String) async throws -> UInt {
    let outgoing = try OutgoingHTTPClient(connectTimeout: .seconds(20), certificates: certificate)
    let response = try await outgoing.execute(
      HTTPClientRequest(url: "https://localhost:\(port)/"), timeout: .seconds(30))
    return response.status.code
  }

  private static func server(
    upTo version: TLSVersion
  ) -> ([NIOSSLCertificate], NIOSSLPrivateKey) -> TLSConfiguration {
    { chain, key in
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
      configuration.minimumTLSVersion = .tlsv1
      configuration.maximumTLSVersion = version
      return configuration
    }
  }

  @Test("A client refuses a server of TLS 1.1, and accepts one of TLS 1.2") func clientsRefuseOldServers() async throws
  {
    try await TLSServer.run(Self.server(upTo: .tlsv11)) { port, certificate in
      let error = await #expect(throws: (any Error).self) { try await request(port, certificate) }
      guard let error, case .untrusted = ConnectionFailure(error) else {
        Issue.record("not a failure of TLS: \(String(describing: error))")
        return
      }
    }
    try await TLSServer.run(Self.server(upTo: .tlsv12)) { port, certificate in
      let status = try await request(port, certificate)
      #expect(status == 204)
    }
  }

  @Test("A server refuses a client of TLS 1.1, and accepts one of TLS 1.2") func serversRefuseOldClients() async throws
  {
    try await TLSServer.run(ServerTLS.configuration) { port, certificate in
      for (version, isAccepted) in [(TLSVersion.tlsv11, false), (.tlsv12, true)] {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv1
        tls.maximumTLSVersion = version
        tls.trustRoots = .file(certificate)
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: .init(tlsConfiguration: tls))
        var status: UInt?
        do {
          let request = HTTPClientRequest(url: "https://localhost:\(port)/")
          status = try await client.execute(request, timeout: .seconds(30)).status.code
        } catch {
          status = nil
        }
        try await client.shutdown()
        #expect((status == 204) == isAccepted)
      }
    }
  }
}
