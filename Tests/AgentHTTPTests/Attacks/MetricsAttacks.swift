import Agent
import AgentHTTP
import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import ServiceLifecycle
import Streams
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
    arguments: [("host", "attacker.example"), ("origin", "https://attacker.example")])
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

  /// The front of this server is that of the HTTP API.
  @Test("The server listens on 127.0.0.1 alone") func noOtherHostReachesIt() async throws {
    try await withServer { port in
      let sockets = try ["tcp", "tcp6"].flatMap {
        try String(contentsOfFile: "/proc/self/net/\($0)", encoding: .utf8).split(separator: "\n")
      }
      // Address and port in hexadecimal, the other end, and the state: 0A listens.
      let listening = sockets.map { $0.split(separator: " ") }.filter { $0.count > 3 && $0[3] == "0A" }.map { $0[1] }
      let ending = String(format: ":%04X", port)
      let addresses = listening.filter { $0.hasSuffix(ending) }.map(String.init)
      #expect(addresses == ["0100007F" + ending])
    }
  }

  @Test("Idle connections take no more descriptors than the limit") func idleConnectionsAreBounded() async throws {
    try await withServer { port in
      // On a thread of its own: the server closes what was idle for 30 s, and beside other tests a task can wait longer.
      let accepted: Int = try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try mostConnectionsAccepted(by: port, of: 300) }) }
      }
      #expect(accepted > 0)
      #expect(accepted <= 128)
    }
  }

  /// Opens idle connections and returns the largest number of them that the server held at once.
  private func mostConnectionsAccepted(by port: Int, of count: Int) throws -> Int {
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    for _ in 0..<count {
      let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      try #require(number >= 0)
      sockets.append(number)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(UInt16(port).bigEndian)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      _ = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    // Until the number has stood still for half a second.
    var most = 0
    var still = 0
    let end = ContinuousClock.now + .seconds(60)
    while still < 25, ContinuousClock.now < end {
      let now = try connections(of: port)
      still = now > 0 && now <= most ? still + 1 : 0
      most = max(most, now)
      usleep(20_000)
    }
    return most
  }

  /// The number of connections that the server has accepted. Those in the kernel's queue belong to no file yet.
  private func connections(of port: Int) throws -> Int {
    let local = String(format: ":%04X", port)
    return try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8).split(separator: "\n").count { line in
      let fields = line.split(separator: " ")
      return fields.count > 9 && fields[1].hasSuffix(local) && fields[3] == "01" && fields[9] != "0"
    }
  }
}
