import Foundation
import Logging
import SystemTesting
import Testing

@testable import SpeedTest
@testable import SpeedTestNIO

extension LinkTests {
  /// The page of the server in a real browser.
  @Suite(.enabled(if: Peers.browser != nil, "needs Chromium: scripts/test browser"), .timeLimit(.minutes(5)))
  struct BrowserTests {
    private struct Shown: Decodable {
      var end: String
      var state: String
      var download: String
      var upload: String
      var ping: String
      var hidesKey: Bool
      var log: [String]
    }

    private func measure(
      _ access: SpeedTestServer.Access, key: String? = nil, files: TestCertificate? = nil
    ) async throws -> Shown {
      var options = SpeedTestServer.Options(address: "127.0.0.1", port: 0, access: access)
      options.certificate = files.map { SpeedTestCertificate(certificate: $0.certificate, privateKey: $0.key) }
      let server = try await SpeedTestServer.start(options, logger: Logger(label: "test"))
      let url = "\(files == nil ? "http" : "https")://localhost:\(server.port)/#seconds=1&threads=2"
      let words = [Peers.path("browser.py"), try #require(Peers.browser), url] + (key.map { ["--key", $0] } ?? [])
      let process = try ChildProcess("python3", words, errors: .kept)
      let outcome = try await within(.seconds(200), "a test in Chromium") { await process.outcome() }
      await server.stop()
      try #require(outcome.status == 0, "\(outcome.errors)")
      return try JSONDecoder().decode(Shown.self, from: Data(outcome.output.utf8))
    }

    private func check(_ shown: Shown) {
      #expect(shown.end == "finished", "\(shown.state)")
      #expect(shown.log == [])
      for rate in [shown.download, shown.upload] {
        let value = Double(rate.prefix { $0 != " " })
        #expect(rate.hasSuffix(" Mbit/s"))
        #expect(value.map { $0 > 1 } == true, "\(rate)")
      }
      #expect(shown.ping.contains(" ms, jitter "))
      #expect(shown.ping.hasSuffix(" round trips"))
    }

    @Test("The page measures both directions and the ping, and asks an open server for no key") func open() async throws
    {
      let shown = try await measure(.open)
      check(shown)
      #expect(shown.hidesKey)
    }

    @Test("The page measures with a key over TLS", .enabled(if: TestCertificate.isPossible, "needs openssl"))
    func withKey() async throws {
      let key = try SpeedTestKey("topsecret")
      let shown = try await measure(.keys([key]), key: "topsecret", files: try await TestCertificate())
      check(shown)
      #expect(!shown.hidesKey)
    }

    @Test("A wrong key is told") func aWrongKey() async throws {
      let shown = try await measure(.keys([try SpeedTestKey("topsecret")]), key: "another")
      #expect(shown.end == "failed")
      #expect(shown.state == "The server does not accept the key.")
      #expect(shown.download.isEmpty)
    }
  }
}
