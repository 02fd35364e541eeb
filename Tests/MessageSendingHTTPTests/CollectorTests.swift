import Foundation
import Glibc
import Logging
import MessageSending
import Streams
import SystemTesting
import Testing

@testable import MessageSendingHTTP

/// The collector on a free port of this host.
@Suite("The collector of messages", .timeLimit(.minutes(5))) struct CollectorTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-server-\(UUID().uuidString.prefix(8))"

  /// Runs a collector while `body` runs, and passes its port.
  private func collecting(
    _ options: MessageCollector.Options = .init(port: 0),
    _ body: @Sendable (MessageCollector, Int) async throws -> Void
  ) async throws {
    let segments = try MessageSegments(folder: folder + "/collected")
    let (ports, source) = BoundedStream.make(of: Int.self, limit: 1)
    let collector = MessageCollector(segments, options: options, logger: Logger(label: "test")) { source.yield($0) }
    let running = Task { try await collector.run() }
    var iterator = ports.makeAsyncIterator()
    let port = try #require(await iterator.next())
    do {
      try await body(collector, port)
    } catch {
      running.cancel()
      throw error
    }
    running.cancel()
    try await running.value
  }

  private func stored() throws -> [SealedMessage] {
    var messages: [SealedMessage] = []
    for path in try MessageSegments.paths(in: folder + "/collected") {
      try MessageSegments.read(path) { messages.append($0) }
    }
    return messages
  }

  private func removing(_ body: () async throws -> Void) async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    do { try await body() } catch {
      try FileManager.default.removeItem(atPath: folder)
      throw error
    }
    try FileManager.default.removeItem(atPath: folder)
  }

  /// Sends bytes on a connection and returns everything that comes back, on a thread of its own: the server needs those
  /// of the tasks.
  private static func exchange(_ port: Int, _ text: String) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try blockingExchange(port, text) }) }
    }
  }

  private static func blockingExchange(_ port: Int, _ text: String) throws -> String {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(number) }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(number, $0, size) == 0 }
    }
    guard isConnected else { throw SystemCallError("connect") }
    _ = text.withCString { send(number, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(number, &buffer, buffer.count), count > 0 { answer += buffer[..<count] }
    return String(decoding: answer, as: UTF8.self)
  }

  private static func post(_ body: String, to path: String = "/user/messages", _ method: String = "POST") -> String {
    "\(method) \(path) HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  @Test("What the transport sends is stored in order, and counted") func whatIsSentIsStored() async throws {
    try await removing {
      let messages = try (0..<5).map { try TransportTests.message($0) }
      try await collecting { collector, port in
        let transport = try HTTPMessageTransport("http://127.0.0.1:\(port)")
        for message in messages { try await transport.send(message) }
        #expect(collector.counts.stored == 5)
      }
      #expect(try stored() == messages)
    }
  }

  @Test("Other lengths, methods and paths are refused with a tidy status, and nothing is stored")
  func otherRequestsAreRefused() async throws {
    try await removing {
      try await collecting { collector, port in
        let body = String(decoding: MessageBody.encode(try TransportTests.message(7)), as: UTF8.self)
        let cases = [
          (Self.post(""), "400"), (Self.post("\"\""), "400"), (Self.post("{}"), "400"),
          (Self.post(String(body.dropLast(5)) + "\""), "400"), (Self.post("\"A" + body.dropFirst()), "400"),
          (Self.post(String(repeating: "A", count: 5000)), "413"), (Self.post(body, to: "/user/message"), "404"),
          (Self.post(body, to: "/user/messages", "PUT"), "404"), (Self.post("", to: "/user/messages", "GET"), "404"),
        ]
        for (request, status) in cases {
          let answer = try await Self.exchange(port, request)
          #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(60))")
          #expect(answer.contains("{\"error\":\""))
        }
        #expect(collector.counts.refused == cases.count)
        #expect(collector.counts.stored == 0)
        let last = try await Self.exchange(port, Self.post(body))
        #expect(last.hasPrefix("HTTP/1.1 200 "))
      }
      #expect(try stored() == [TransportTests.message(7)])
    }
  }

  @Test("Requests above the rate are refused with status 429") func theRateIsLimited() async throws {
    try await removing {
      var options = MessageCollector.Options(port: 0)
      options.messagesPerMinute = 3
      try await collecting(options) { collector, port in
        let body = String(decoding: MessageBody.encode(try TransportTests.message(7)), as: UTF8.self)
        var answers: [String] = []
        for _ in 0..<6 { answers.append(try await Self.exchange(port, Self.post(body))) }
        #expect(answers.prefix(3).allSatisfy { $0.hasPrefix("HTTP/1.1 200 ") })
        #expect(answers.last?.hasPrefix("HTTP/1.1 429 ") == true)
        #expect(collector.counts.limited >= 2)
      }
    }
  }

  @Test("The transport trusts only the pinned certificate", .enabled(if: ChildProcess.path(of: "openssl") != nil))
  func onlyThePinnedCertificateIsTrusted() async throws {
    try await removing {
      for name in ["one", "other"] {
        let openssl = try ChildProcess(
          "openssl",
          [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "\(folder)/\(name).key",
            "-out", "\(folder)/\(name).pem",
          ], output: .discarded, errors: .discarded)
        #expect(await openssl.outcome().status == 0)
      }
      let options = MessageCollector.Options(port: 0, certificate: ("\(folder)/one.pem", "\(folder)/one.key"))
      let folder = folder
      try await collecting(options) { collector, port in
        let url = "https://localhost:\(port)"
        let trusted = try HTTPMessageTransport(url, options: .init(certificates: "\(folder)/one.pem"))
        try await trusted.send(TransportTests.message(1))
        for certificates in ["\(folder)/other.pem", nil] {
          let other = try HTTPMessageTransport(url, options: .init(certificates: certificates))
          let error = await #expect(throws: MessageSendingError.self) {
            try await other.send(TransportTests.message(2))
          }
          #expect(error?.message.contains("not trusted") == true)
        }
        #expect(collector.counts.stored == 1)
      }
    }
  }

  @Test(
    "A SOCKS server written by others passes on what the transport sends",
    .enabled(if: ChildProcess.path(of: "microsocks") != nil, "needs microsocks"))
  func throughASOCKSServer() async throws {
    try await removing {
      try await collecting { collector, port in
        let proxyPort = try LoopbackPort.free()
        let proxy = try ChildProcess("microsocks", ["-i", "127.0.0.1", "-p", "\(proxyPort)"], errors: .kept)
        let transport = try HTTPMessageTransport(
          "http://127.0.0.1:\(port)", options: .init(proxy: "socks5://127.0.0.1:\(proxyPort)"))
        try await eventually("the proxy listens") {
          do {
            try await transport.send(TransportTests.message(1))
            return true
          } catch let error as MessageSendingError where error.message.contains("no server responds") {
            return false
          }
        }
        try await transport.send(TransportTests.message(2))
        #expect(collector.counts.stored == 2)
        proxy.signal(SIGTERM)
        let said = await proxy.outcome().errors
        #expect(said.contains("connected to 127.0.0.1:\(port)"), "the proxy said: \(said)")
      }
      #expect(try stored() == [TransportTests.message(1), TransportTests.message(2)])
    }
  }

  @Test("An unreadable certificate is a typed error") func anUnreadableCertificate() async throws {
    try await removing {
      let segments = try MessageSegments(folder: folder)
      let options = MessageCollector.Options(port: 0, certificate: ("/nonexistent.pem", "/nonexistent.key"))
      let collector = MessageCollector(segments, options: options, logger: Logger(label: "test"))
      let error = await #expect(throws: MessageSendingError.self) { try await collector.run() }
      #expect(error?.code == .invalidArgument)
    }
  }
}
