import EdgeCoderHTTP
import EdgeCoderTesting
import Logging
import SystemTesting
import Testing

/// Other hosts, and clients that connect and do nothing, against the server of `edgeblue central`.
@Suite("Who reaches the HTTP API", .timeLimit(.minutes(5))) struct ListeningAttacks {
  private func withServer(limit: Int? = nil, _ body: (Int) async throws -> Void) async throws {
    let (ports, opened) = AsyncStream.makeStream(of: Int.self)
    var configuration = HTTPAPI.Configuration(port: 0)
    configuration.connectionLimit = limit ?? configuration.connectionLimit
    let api = HTTPAPI(
      service: FakeService(output: "x"), configuration: configuration,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, onListening: { opened.yield($0) })
    let server = Task { try await api.run() }
    try await body(try #require(await ports.first { _ in true }))
    server.cancel()
    try await server.value
  }

  @Test("The HTTP API listens on 127.0.0.1 alone") func noOtherHostReachesIt() async throws {
    try await withServer { port in
      let listeners = try TCPSockets.listening(at: port)
      #expect(listeners == [.init("127.0.0.1", port)])
    }
  }

  /// Where the limit is higher, more are accepted, which shows that they are counted.
  @Test(
    "Idle connections take no more descriptors than the limit", arguments: [(nil, 128), (200, 200)] as [(Int?, Int)])
  func idleConnectionsAreBounded(limit: Int?, most: Int) async throws {
    try await withServer(limit: limit) { port in
      let accepted = try await TCPSockets.mostAccepted(by: port, of: 300)
      #expect(accepted > most - 16)
      #expect(accepted <= most)
    }
  }
}
