import Streams
import SystemTesting
import Testing

@testable import SpeedTest
@testable import SpeedTestNIO

extension LinkTests {
  /// Our client at a server that was written in Python from the protocol's description.
  @Suite(.enabled(if: Peers.isThere, "needs python3"), .timeLimit(.minutes(5))) struct ClientTests {
    @Test(
      "All phases run against a server of each kind",
      arguments: [[], ["--nul", "--drop-input"], ["--crlf"], ["--short-chunksize"], ["--http"], ["--http", "--nul"]])
    func everyKind(arguments: [String]) async throws {
      let server = try await PythonServer(arguments)
      var client = server.client
      client.usesHTTPUpgrade = arguments.contains("--http")
      let report = try await client.run(.short())
      let result = report.result
      #expect(result.failure == nil)
      #expect(report.connection?.interface == "lo")
      // The counters are those of all programs.
      #expect(try #require(report.traffic?.download?.received) >= result.download?.totalBytes ?? .max)
      #expect(try #require(report.traffic?.upload?.sent) >= result.upload?.totalBytes ?? .max)
      #expect(try #require(result.download).throughput.bitsPerSecond > 1e6)
      #expect(try #require(result.upload).throughput.bitsPerSecond > 1e6)
      #expect(result.pings.count >= 10)
      // A busy machine may be too slow for two connections within so short a pretest.
      #expect(result.download?.samples.count == result.threads)
    }

    @Test("Tokens of each form are accepted by the key's server", arguments: SpeedTestTokenForm.allCases)
    func tokens(form: SpeedTestTokenForm) async throws {
      let server = try await PythonServer(["--key", "topsecret"])
      var client = server.client
      client.key = try SpeedTestKey("topsecret")
      client.tokenForm = form
      #expect(try await client.run(.short(threads: 1, upload: false)).result.failure == nil)
      client.key = try SpeedTestKey("another")
      #expect(try await client.run(.short(threads: 1)).result.failure?.error?.code == .refused)
    }

    @Test("A server that closes instead of refusing a token has refused it") func aQuietRefusal() async throws {
      let server = try await PythonServer(["--key", "topsecret", "--fault", "quiet-refusal"])
      #expect(try await server.client.run(.short()).result.failure?.error?.code == .refused)
    }

    struct Fault: Sendable, CustomTestStringConvertible {
      var name: String
      var phase: SpeedTestPhase
      var code: SpeedTestError.Code
      var testDescription: String { name }
    }

    static let faults: [Fault] = [
      Fault(name: "silent", phase: .connecting, code: .timedOut),
      Fault(name: "drip", phase: .connecting, code: .timedOut),
      Fault(name: "gigabyte-line", phase: .connecting, code: .invalidReply),
      Fault(name: "not-rmbt", phase: .connecting, code: .invalidReply),
      Fault(name: "err", phase: .downloadPretest, code: .refused),
      Fault(name: "wrong-marker", phase: .downloadPretest, code: .invalidReply),
      Fault(name: "endless-chunks", phase: .downloadPretest, code: .invalidReply),
      Fault(name: "close-in-pretest", phase: .downloadPretest, code: .connectionClosed),
      Fault(name: "close-in-ping", phase: .latency, code: .connectionClosed),
      Fault(name: "no-number", phase: .latency, code: .invalidReply),
      Fault(name: "close-in-download", phase: .download, code: .connectionClosed),
      Fault(name: "stall-in-download", phase: .download, code: .timedOut),
      Fault(name: "close-in-upload", phase: .upload, code: .connectionClosed),
      Fault(name: "time-backwards", phase: .upload, code: .invalidReply),
      Fault(name: "too-many-bytes", phase: .upload, code: .invalidReply),
    ]

    @Test("A server with a fault ends the test within a bound, with an error that names the phase", arguments: faults)
    func aFault(fault: Fault) async throws {
      let server = try await PythonServer(["--fault", fault.name])
      let client = server.client
      // A download of 2 s: a shorter one need not be covered by samples.
      let report = try await within(.seconds(40), "a test with the fault \(fault.name)") {
        try await client.run(.short(threads: 1, seconds: 2))
      }
      #expect(report.result.failure?.phase == fault.phase)
      #expect(report.result.failure?.error?.code == fault.code, "\(String(describing: report.result.failure))")
      #expect((report.result.download != nil) == (fault.phase == .upload))
    }

    @Test("A direction that does not end is cut off, and counts", arguments: ["endless-download", "no-final-time"])
    func anEndlessDirection(fault: String) async throws {
      let server = try await PythonServer(["--fault", fault])
      let result = try await server.client.run(.short()).result
      #expect(result.failure == nil)
      #expect(result.download != nil)
      #expect(result.upload != nil)
    }

    @Test("A cancelled test ends at once in any phase, and keeps what was measured", arguments: SpeedTestPhase.allCases)
    func cancelled(phase: SpeedTestPhase) async throws {
      let server = try await PythonServer(phase == .connecting ? ["--fault", "silent"] : [])
      let client = server.client
      let (starts, start) = BoundedStream.make(of: Bool.self, limit: 1, policy: .dropNewest)
      let cancel = Lock<@Sendable () -> Void>({})
      let isCancelled = Lock(false)
      // At its first instant: a short phase may be over before a test that looks again and again has seen it.
      let meter = SpeedTestMeter { entered in
        guard entered == phase else { return }
        cancel.withLock { $0 }()
        isCancelled.withLock { $0 = true }
      }
      let plan = try SpeedTestPlan(threads: 2, seconds: 2)
      let running = Task {
        for await _ in starts { break }
        return try await client.run(plan, meter: meter)
      }
      cancel.withLock { $0 = { running.cancel() } }
      start.yield(true)
      try await eventually("the phase \(phase)") { isCancelled.withLock { $0 } }
      let result = try await within(.seconds(8)) { try await running.value.result }
      guard phase != .finished else { return #expect(result.failure == nil) }
      #expect(result.failure == .init(phase: phase, error: nil))
      #expect((result.download != nil) == [.uploadPretest, .upload].contains(phase))
    }

    @Test("A server that is killed under way ends the test") func killed() async throws {
      let server = try await PythonServer([])
      let client = server.client
      let meter = SpeedTestMeter()
      async let report = client.run(try SpeedTestPlan(threads: 3, seconds: 5), meter: meter)
      try await eventually("the download") { meter.progress.phase == .download }
      server.process.signal(9)
      let failure = try await report.result.failure
      #expect(failure?.phase == .download)
      #expect(failure?.error?.code == .connectionClosed)
    }

    @Test("A closed port and an unknown host are unreachable") func unreachable() async throws {
      let closed = try await SpeedTestClient(host: "127.0.0.1", port: 1).run(.short())
      #expect(closed.result.failure?.error?.code == .unreachable)
      #expect(closed.result.failure?.error?.message.contains("Connection refused") == true)
      let unknown = try await SpeedTestClient(host: "host.invalid", port: 1).run(.short())
      #expect(unknown.result.failure?.error?.code == .unreachable)
    }

    @Test(
      "TLS verifies the certificate unless told otherwise", .enabled(if: TestCertificate.isPossible, "needs openssl"))
    func tls() async throws {
      let files = try await TestCertificate()
      let server = try await PythonServer(
        ["--certificate", files.certificate, "--private-key", files.key], folder: files.folder)
      var client = server.client
      let plain = try await client.run(.short(threads: 1)).result.failure
      #expect(plain?.phase == .connecting)
      client.transport = .tls(certificates: nil)
      let untrusted = try await client.run(.short(threads: 1)).result.failure
      #expect(untrusted?.error?.message.contains("the certificate is not trusted") == true)
      for transport in [SpeedTestTransport.tls(certificates: files.certificate), .unverifiedTLS] {
        client.transport = transport
        let report = try await client.run(.short())
        #expect(report.result.failure == nil)
        #expect(["TLSv1.2", "TLSv1.3"].contains(report.connection?.tlsVersion))
        #expect(report.connection?.cipher?.hasPrefix("TLS_") == true)
      }
      client.transport = .tls(certificates: "/nonexistent.pem")
      await #expect(throws: SpeedTestError.self) { try await client.run(.short()) }
    }
  }
}
