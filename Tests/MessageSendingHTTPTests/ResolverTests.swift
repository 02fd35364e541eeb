import DeterministicTesting
import Foundation
import MessageSending
import Testing

@testable import MessageSendingHTTP

/// DNS over HTTPS: the wire format, and the transport that uses it.
@Suite("DNS over HTTPS", .timeLimit(.minutes(5))) struct ResolverTests {
  /// The question and the answers of RFC 8484, section 4.2.2.
  private static let question: [UInt8] = [
    0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 0x77, 0x77, 0x77, 7, 0x65, 0x78, 0x61, 0x6d, 0x70, 0x6c, 0x65, 3, 0x63, 0x6f,
    0x6d, 0, 0, 1, 0, 1,
  ]

  static func answer(_ type: UInt8, _ address: [UInt8], alias: Bool = false) -> [UInt8] {
    var bytes = question
    bytes[2] = 0x81
    bytes[3] = 0x80
    bytes[7] = alias ? 2 : 1
    if alias { bytes += [0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 4, 1, 0x61, 0xc0, 16] }
    return bytes + [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, UInt8(address.count)] + address
  }

  @Test("The question is that of RFC 8484") func theQuestion() {
    #expect(DNSMessage.question("www.example.com", .address4) == Self.question)
    #expect(DNSMessage.question("a..b", .address4) == nil)
    #expect(DNSMessage.question(String(repeating: "a", count: 64), .address4) == nil)
    #expect(DNSMessage.question(String(repeating: "abc.", count: 70) + "d", .address4) == nil)
  }

  @Test("The first address of the asked type is returned, also after an alias") func theFirstAddress() {
    #expect(DNSMessage.address(in: Self.answer(1, [192, 0, 2, 1]), .address4) == "192.0.2.1")
    #expect(DNSMessage.address(in: Self.answer(1, [192, 0, 2, 1], alias: true), .address4) == "192.0.2.1")
    let six = [0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 0, count: 11) + [1]
    #expect(DNSMessage.address(in: Self.answer(28, six), .address6) == "2001:db8:0:0:0:0:0:1")
    #expect(DNSMessage.address(in: Self.answer(28, six), .address4) == nil)
  }

  @Test("Every truncated and every changed answer is an address or none, and never traps") func anythingAsAnAnswer() {
    let inputs = ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_INPUTS"].flatMap { Int($0) } ?? 2000
    let whole = Self.answer(1, [192, 0, 2, 1], alias: true)
    for count in whole.indices { #expect(DNSMessage.address(in: Array(whole[..<count]), .address4) == nil) }
    var random = SeededGenerator(seed: 8)
    for _ in 0..<inputs {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
      }
      _ = DNSMessage.address(in: bytes, .address4)
      _ = DNSMessage.address(in: bytes, .address6)
    }
  }

  @Test("The transport connects to the address that the resolver returns, and names the host as before")
  func theTransportConnectsToTheAddress() async throws {
    let resolver = try RawServer { _, bytes in
      guard bytes.count > 100, bytes.suffix(5) == [0, 0, 1, 0, 1] else { return nil }
      let answer = Self.answer(1, [127, 0, 0, 1])
      return Array("HTTP/1.1 200 OK\r\nContent-Length: \(answer.count)\r\n\r\n".utf8) + answer
    }
    // Nothing but TLS is permitted to a host of the network; the first bytes show who was meant.
    let server = try RawServer { _, _ in [] }
    var options = HTTPMessageTransport.Options(resolver: "http://127.0.0.1:\(resolver.port)/dns-query")
    options.limit = .seconds(5)
    let transport = try HTTPMessageTransport("https://www.example.com:\(server.port)", options: options)
    await #expect(throws: MessageSendingError.self) { try await transport.send(TransportTests.message(1)) }
    let hello = try #require(server.connections.first)
    #expect(String(decoding: hello, as: UTF8.self).contains("www.example.com"))
    let question = try #require(resolver.connections.first)
    #expect(String(decoding: question, as: UTF8.self).contains("POST /dns-query HTTP/1.1"))
    #expect(question.suffix(Self.question.count) == Self.question[...])
  }

  @Test("Without an answer of the resolver nothing is sent, and the system's resolver is not asked") func noAnswer()
    async throws
  {
    let resolver = try RawServer { _, _ in Array("HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n".utf8) }
    let server = try RawServer { _, _ in [] }
    let transport = try HTTPMessageTransport(
      "http://localhost:\(server.port)", options: .init(resolver: "http://127.0.0.1:\(resolver.port)/dns-query"))
    let error = await #expect(throws: MessageSendingError.self) { try await transport.send(TransportTests.message(1)) }
    #expect(error?.code == .notSent)
    #expect(server.connections.isEmpty)
    #expect(throws: MessageSendingError.self) {
      try HTTPMessageTransport(
        "https://host", options: .init(proxy: "socks5://127.0.0.1:9050", resolver: "https://127.0.0.1/dns-query"))
    }
  }
}
