import Foundation
import Logging
import SystemTesting
import Testing

@testable import SpeedTest
@testable import SpeedTestNIO

extension LinkTests {
  /// Our server, measured by a client that was written in Python from the protocol's description.
  @Suite(.enabled(if: Peers.isThere, "needs python3"), .timeLimit(.minutes(5))) struct ServerTests {
    private func start(
      _ access: SpeedTestServer.Access = .open, _ change: (inout SpeedTestServer.Options) -> Void = { _ in }
    ) async throws -> SpeedTestServer {
      var options = SpeedTestServer.Options(address: "127.0.0.1", port: 0, access: access)
      change(&options)
      return try await SpeedTestServer.start(options, logger: Logger(label: "test"))
    }

    private func python(_ port: Int, _ arguments: [String]) async throws -> (status: Int32, output: String) {
      let client = try ChildProcess("python3", [Peers.path("rmbt_client.py"), "\(port)"] + arguments)
      let outcome = await client.outcome()
      return (outcome.status, outcome.output)
    }

    @Test("Every rule of the protocol holds towards a foreign client, also as a browser", arguments: [[], ["--ws"]])
    func quirks(more: [String]) async throws {
      let server = try await start(.keys([try SpeedTestKey("another"), try SpeedTestKey("topsecret")]))
      let (status, output) = try await python(server.port, ["quirks", "--key", "topsecret"] + more)
      let lines = output.split(separator: "\n")
      #expect(lines.filter { !$0.hasPrefix("ok ") } == [])
      #expect(lines.count >= 21)
      #expect(status == 0)
      #expect(server.statistics.rejectedTokens == 10)
      await server.stop()
    }

    @Test(
      "A foreign client measures all phases, with and without HTTP, and as a browser",
      arguments: [[], ["--http"], ["--ws"]])
    func measured(arguments: [String]) async throws {
      let server = try await start()
      let client = try ChildProcess(
        "python3", [Peers.path("rmbt_client.py"), "\(server.port)", "measure"] + arguments)
      let outcome = await client.outcome()
      #expect(outcome.status == 0)
      let values = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
      #expect(try #require(values["down"] as? Double) > 1e6)
      #expect(try #require(values["up"] as? Double) > 1e6)
      #expect(try #require(values["reports"] as? Int) > 0)
      let times = try #require(values["serverTimes"] as? [Double])
      #expect(times.allSatisfy { (1.0...3.0).contains($0) }, "a download of 1 s took \(times)")
      await server.stop()
    }

    @Test("A foreign client measures over TLS", .enabled(if: TestCertificate.isPossible, "needs openssl"))
    func measuredOverTLS() async throws {
      let files = try await TestCertificate()
      let server = try await start {
        $0.certificate = SpeedTestCertificate(certificate: files.certificate, privateKey: files.key)
      }
      for more in [[], ["--ws"]] {
        let (status, _) = try await python(server.port, ["measure", "--ca", files.certificate] + more)
        #expect(status == 0)
      }
      await server.stop()
    }

    @Test("The UDP port answers pings with a valid token, and nothing else") func pings() async throws {
      let expected = [
        "good RR01", "other-address RE01", "an-hour-old RR01", "too-old none", "too-early none", "other-key none",
        "short none", "long none", "again RR01",
      ]
      let server = try await start(.keys([try SpeedTestKey("another1"), try SpeedTestKey("topsecret")])) {
        $0.pingPort = 0
      }
      let port = try #require(server.pingPort)
      let (status, output) = try await python(port, ["pings", "--key", "topsecret"])
      #expect(status == 0)
      #expect(output.split(separator: "\n").map(String.init) == expected)
      let statistics = server.statistics
      #expect(statistics.pings == 3)
      #expect(statistics.refusedPings == 1)
      #expect(statistics.ignoredPings == 5)
      await server.stop()
    }

    @Test("A server uses the sockets that it is given, and counts what it transfers") func givenSockets() async throws {
      let sockets = try BoundSockets()
      let server = try await start {
        $0.listeningSocket = sockets.stream
        $0.pingSocket = sockets.datagram
      }
      #expect(server.port == sockets.port)
      #expect(server.pingPort == sockets.port)
      let client = SpeedTestClient(host: "127.0.0.1", port: server.port)
      let result = try await client.run(.short(threads: 1)).result
      #expect(result.failure == nil)
      let statistics = server.statistics
      #expect(Double(statistics.sentBytes) >= (try #require(result.download)).throughput.bytes)
      #expect(Double(statistics.receivedBytes) >= (try #require(result.upload)).throughput.bytes)
      #expect(try await python(sockets.port, ["pings"]).output.hasPrefix("good RR01\nother-address RR01\n"))
      await server.stop()
    }

    @Test("Connections above the limits are closed at once, and others are not disturbed") func limits() async throws {
      for inAll in [true, false] {
        let server = try await start {
          if inAll { $0.connectionLimit = 3 } else { $0.connectionsPerAddress = 3 }
        }
        let client = SpeedTestClient(host: "127.0.0.1", port: server.port)
        #expect(try await client.run(.short(threads: 4)).result.failure?.phase == .connecting)
        #expect(server.statistics.refused >= 1)
        try await eventually("all connections are closed") { server.statistics.open == 0 }
        #expect(try await client.run(.short(threads: 3)).result.failure == nil)
        await server.stop()
      }
    }

    @Test("A server that stops under way ends the test of its clients") func stopped() async throws {
      let server = try await start()
      let client = SpeedTestClient(host: "127.0.0.1", port: server.port)
      let meter = SpeedTestMeter()
      async let report = client.run(try SpeedTestPlan(threads: 2, seconds: 10), meter: meter)
      try await eventually("the download") { meter.progress.phase == .download }
      await server.stop()
      #expect(server.statistics.open == 0)
      let failure = try await report.result.failure
      #expect(failure?.error?.code == .connectionClosed, "\(String(describing: failure))")
    }

    @Test(
      "Our client measures our server over TLS and HTTP with a key",
      .enabled(if: TestCertificate.isPossible, "needs openssl"))
    func bothEnds() async throws {
      let files = try await TestCertificate()
      let key = try SpeedTestKey("topsecret")
      let server = try await start(.keys([key])) {
        $0.certificate = SpeedTestCertificate(certificate: files.certificate, privateKey: files.key)
      }
      var client = SpeedTestClient(host: "localhost", port: server.port, key: key)
      client.transport = .tls(certificates: files.certificate)
      client.usesHTTPUpgrade = true
      client.tokenForm = .combined
      let report = try await client.run(.short(threads: 5))
      #expect(report.result.failure == nil)
      #expect(report.result.upload?.samples.count == report.result.threads)
      #expect(report.connection?.serverVersion == "1.6.0")
      await server.stop()
    }

    @Test("A port in use and a missing certificate are errors") func cannotStart() async throws {
      let server = try await start()
      let port = server.port
      let error = await #expect(throws: SpeedTestError.self) { try await start { $0.port = port } }
      #expect(error?.message.contains("the port is in use") == true)
      await server.stop()
      await #expect(throws: SpeedTestError.self) {
        try await start {
          $0.certificate = SpeedTestCertificate(certificate: "/nonexistent", privateKey: "/nonexistent")
        }
      }
    }
  }
}
