import Agent
import AgentHTTP
import AsyncHTTPClient
import Logging
import NIOCore
import ServiceLifecycle
import Streams
import SystemTesting
import Testing

/// Web sites and idle connections against the server of metrics.
@Suite("Attacks on the metrics server", .timeLimit(.minutes(5))) struct MetricsAttacks {
  private func withServer(_ body: (Int) async throws -> Void) async throws {
    let (ports, opened) = BoundedStream.make(of: Int.self, limit: 1)
    let server = MetricsServer(port: 0, logger: Logger(label: "test"), onListening: { opened.yield($0) }) {
      [Metric("calls_total", .counter, "Calls.", 1)]
    }
    let group = ServiceGroup(services: [server], logger: Logger(label: "test"))
    let work = Task { try await group.run() }
    let port = try #require(await ports.first { _ in true })
    try await body(port)
    await group.triggerGracefulShutdown()
    try await work.value
  }

  @Test(
    "A request with the name or the origin of a web site gets no metrics",
    arguments: [
      ("host", "attacker.example"), ("host", "localhost.attacker.example"), ("host", "0.0.0.0"), ("host", "[::]"),
      ("origin", "https://attacker.example"), ("origin", "null"),
    ])
  func aWebSiteGetsNothing(header: String, value: String) async throws {
    try await withServer { port in
      var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/metrics")
      request.headers.replaceOrAdd(name: header, value: value)
      let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
      #expect(answer.status.code == 403)
      let body = try await answer.body.collect(upTo: 1 << 16)
      #expect(!String(buffer: body).contains("calls_total"))
    }
  }

  @Test("A request with each name of this host gets the metrics", arguments: ["127.0.0.1", "localhost", "[::1]"])
  func thisHostGetsThem(host: String) async throws {
    try await withServer { port in
      var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/metrics")
      request.headers.replaceOrAdd(name: "host", value: "\(host):\(port)")
      let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
      #expect(answer.status.code == 200)
      let body = try await answer.body.collect(upTo: 1 << 16)
      #expect(String(buffer: body).contains("calls_total"))
    }
  }

  @Test("The server listens on 127.0.0.1 alone") func noOtherHostReachesIt() async throws {
    try await withServer { port in
      let listeners = try TCPSockets.listening(at: port)
      #expect(listeners == [.init("127.0.0.1", port)])
    }
  }

  @Test("Idle connections take no more descriptors than the limit") func idleConnectionsAreBounded() async throws {
    try await withServer { port in
      let accepted = try await TCPSockets.mostAccepted(by: port, of: 300)
      #expect(accepted > 112)
      #expect(accepted <= 128)
    }
  }
}
