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
  private func withServer(bodyTimeout: Duration? = nil, _ body: (Int) async throws -> Void) async throws {
    let (ports, opened) = BoundedStream.make(of: Int.self, limit: 1)
    var server = MetricsServer(port: 0, logger: Logger(label: "test"), onListening: { opened.yield($0) }) {
      [Metric("calls_total", .counter, "Calls.", 1)]
    }
    if let bodyTimeout { server.body.timeout = bodyTimeout }
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

  private func request(length: Int, body: String) -> String {
    "GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\n\(body)"
  }

  @Test("A body of more than 1 MiB gets no metrics, whether its length is stated or not")
  func aLongBodyIsRefused() async throws {
    try await withServer { port in
      let stated = try RawClient(port: port)
      try stated.send(request(length: (1 << 20) + 1, body: "x"))
      #expect(try await stated.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 413"))
      let unstated = try RawClient(port: port)
      let body = String(repeating: "x", count: (1 << 20) + 1)
      try unstated.send(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
          + "\(String(body.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
      #expect(try await unstated.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 413"))
    }
  }

  @Test("A body up to 1 MiB is read, and makes no difference") func aShortBodyIsRead() async throws {
    try await withServer { port in
      var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/metrics")
      request.body = .bytes(ByteBuffer(repeating: 0x78, count: 1 << 20))
      let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
      #expect(answer.status.code == 200)
    }
  }

  @Test("A body that never comes is 408, and ends the connection") func aBodyThatNeverComesIs408() async throws {
    try await withServer(bodyTimeout: .milliseconds(100)) { port in
      let raw = try RawClient(port: port)
      try raw.send(request(length: 100, body: "x"))
      #expect(try await raw.readToEnd().hasPrefix("HTTP/1.1 408"))
    }
  }
}
