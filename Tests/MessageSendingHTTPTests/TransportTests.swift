import Foundation
import MessageSending
import SystemTesting
import Testing

@testable import MessageSendingHTTP

/// The requests of the transport, byte for byte.
@Suite("The HTTP transport of messages", .timeLimit(.minutes(5))) struct TransportTests {
  static func message(_ byte: UInt8) throws -> SealedMessage {
    try SealedMessage(bytes: [UInt8](repeating: byte, count: SealedMessage.byteCount))
  }

  static let accepted = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

  @Test("Each message is one request of fixed headers, order and size, on a connection of its own")
  func eachMessageIsOneRequest() async throws {
    let server = try RawServer(RawServer.whenWhole(Self.accepted))
    let transport = try HTTPMessageTransport("http://127.0.0.1:\(server.port)")
    // A byte of 0xff becomes a row of slashes, which other encoders escape.
    for byte in [0, 0xff, 0x41] as [UInt8] { try await transport.send(Self.message(byte)) }
    let requests = server.connections.map { String(decoding: $0, as: UTF8.self) }
    #expect(requests.count == 3)
    #expect(Set(requests.map(\.utf8.count)).count == 1)
    for (request, byte) in zip(requests, [0, 0xff, 0x41] as [UInt8]) {
      let body = String(decoding: MessageBody.encode(try Self.message(byte)), as: UTF8.self)
      #expect(
        request == """
          POST /user/messages HTTP/1.1\r
          Host: 127.0.0.1:\(server.port)\r
          User-Agent: EdgeBlue\r
          Accept: application/json\r
          Content-Type: application/json\r
          Connection: close\r
          Content-Length: 1033\r
          \r
          \(body)
          """)
    }
  }

  @Test(
    "A status other than 200 to 299 is an error, and nothing is repeated or followed",
    arguments: ["301 Moved Permanently\r\nLocation: /elsewhere", "400 Bad Request", "429 Too Many", "500 Broken"])
  func otherStatuses(status: String) async throws {
    let server = try RawServer(RawServer.whenWhole("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n"))
    let transport = try HTTPMessageTransport("http://127.0.0.1:\(server.port)")
    let error = await #expect(throws: MessageSendingError.self) { try await transport.send(Self.message(1)) }
    #expect(error?.code == .notSent)
    #expect(error?.message.contains("status \(status.prefix(3))") == true)
    #expect(server.connections.count == 1)
  }

  @Test("A server that closes at once, or talks nonsense, is an error") func brokenServers() async throws {
    for answer in ["", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"] {
      let whole = RawServer.whenWhole(answer)
      let server = try RawServer { number, bytes in
        // Half an answer, then the end of the connection.
        guard let reply = whole(number, bytes), !reply.isEmpty else { return answer.isEmpty ? [] : nil }
        return reply
      }
      var options = HTTPMessageTransport.Options()
      options.limit = .seconds(1)
      let transport = try HTTPMessageTransport("http://127.0.0.1:\(server.port)", options: options)
      let error = await #expect(throws: MessageSendingError.self) { try await transport.send(Self.message(1)) }
      #expect(error?.code == .notSent)
    }
  }

  @Test("A silent server and no server are errors, and a cancelled task ends the attempt") func silentServers()
    async throws
  {
    let silent = try RawServer { _, _ in nil }
    var options = HTTPMessageTransport.Options()
    options.limit = .milliseconds(300)
    let transport = try HTTPMessageTransport("http://127.0.0.1:\(silent.port)", options: options)
    let late = await #expect(throws: MessageSendingError.self) { try await transport.send(Self.message(1)) }
    #expect(late?.code == .notSent)
    let patient = try HTTPMessageTransport("http://127.0.0.1:\(silent.port)")
    let task = Task { try await patient.send(Self.message(1)) }
    try await eventually { silent.connections.count == 2 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    silent.stop()
    let nobody = await #expect(throws: MessageSendingError.self) { try await transport.send(Self.message(1)) }
    #expect(nobody?.message.contains("no server responds") == true)
  }

  @Test("The SOCKS proxy receives the host's name, and then the same request") func theProxyReceivesTheName()
    async throws
  {
    let proxy = try RawServer { (_: Int, bytes: [UInt8]) -> [UInt8]? in
      if bytes.count == 3 { return [5, 0] }
      // The greeting, then the command, a name of 16 characters and a port: 3 and 23 bytes.
      if bytes.count <= 26 { return bytes.count == 26 ? [5, 0, 0, 1, 0, 0, 0, 0, 0, 0] : nil }
      return RawServer.whenWhole(Self.accepted)(0, Array(bytes[26...]))
    }
    let transport = try HTTPMessageTransport(
      "http://abcdefghij.onion", options: .init(proxy: "socks5://127.0.0.1:\(proxy.port)"))
    try await transport.send(Self.message(1))
    let bytes = proxy.connections[0]
    #expect(Array(bytes[..<8]) == [5, 1, 0, 5, 1, 0, 3, 16])
    #expect(String(decoding: bytes[8..<24], as: UTF8.self) == "abcdefghij.onion")
    #expect(Array(bytes[24..<26]) == [0, 80])
    #expect(
      String(decoding: bytes[26...], as: UTF8.self).hasPrefix(
        "POST /user/messages HTTP/1.1\r\nHost: abcdefghij.onion\r\n"))
  }

  @Test("Plain HTTP is for this host and for onion services behind a proxy; other URLs are refused")
  func otherURLsAreRefused() throws {
    for url in [
      "http://collector.example", "ftp://127.0.0.1", "https://", "127.0.0.1:80", "https://user@host",
      "https://host?a=b",
      "http://abcdefghij.onion", "https://host:99999", "https://host:99999999999999999999", "http://127.example", "",
    ] {
      let error = #expect(throws: MessageSendingError.self, "\(url)") { try HTTPMessageTransport(url) }
      #expect(error?.code == .invalidArgument)
    }
    for url in ["https://host", "https://host:8443/base/", "http://localhost:1", "http://[::1]:7676"] {
      #expect(throws: Never.self) { try HTTPMessageTransport(url) }
    }
    let proxied = HTTPMessageTransport.Options(proxy: "http://127.0.0.1:8080")
    #expect(throws: MessageSendingError.self) { try HTTPMessageTransport("https://host", options: proxied) }
    let missing = HTTPMessageTransport.Options(certificates: "/nonexistent.pem")
    #expect(throws: MessageSendingError.self) { try HTTPMessageTransport("https://host", options: missing) }
  }
}
