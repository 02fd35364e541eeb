import Foundation
import MessageSending
import Testing

@testable import MessageSendingHTTP

/// Keys that are published at a URL.
@Suite("Keys from a URL", .timeLimit(.minutes(5))) struct KeysFetcherTests {
  /// Answers a whole request of any kind.
  private static func server(_ answer: [UInt8]) throws -> RawServer {
    try RawServer { _, bytes in String(decoding: bytes, as: UTF8.self).hasSuffix("\r\n\r\n") ? answer : nil }
  }

  private static func response(_ body: [UInt8], status: String = "200 OK") -> [UInt8] {
    Array("HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
  }

  @Test("The document is fetched in one request of fixed headers, on a connection of its own") func oneRequest()
    async throws
  {
    let server = try Self.server(Self.response([1, 2, 3]))
    let fetcher = try KeysFetcher("http://127.0.0.1:\(server.port)/keys.json")
    #expect(try await fetcher.fetch() == [1, 2, 3])
    #expect(try await fetcher.fetch() == [1, 2, 3])
    #expect(server.connections.count == 2)
    #expect(
      server.connections.map { String(decoding: $0, as: UTF8.self) }.first == """
        GET /keys.json HTTP/1.1\r
        Host: 127.0.0.1:\(server.port)\r
        User-Agent: EdgeBlue\r
        Accept: application/json\r
        Connection: close\r
        \r

        """)
  }

  @Test(
    "Another status, a document that is too long, and no server are errors; redirects are not followed",
    arguments: ["301 Moved\r\nLocation: /other", "404 Not Found", "500 Broken", "200 OK"])
  func failures(status: String) async throws {
    let body = [UInt8](repeating: 0x20, count: status == "200 OK" ? SignedKeys.largestByteCount + 1 : 0)
    let server = try Self.server(Self.response(body, status: status))
    let error = await #expect(throws: MessageSendingError.self) {
      try await KeysFetcher("http://127.0.0.1:\(server.port)/keys.json").fetch()
    }
    #expect(error?.code == .notFetched)
    #expect(server.connections.count == 1)
  }

  @Test("A server that stalls in the middle of its response is an error within the limit") func aStallingServer()
    async throws
  {
    let server = try Self.server(Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".utf8))
    var options = HTTPMessageTransport.Options()
    options.limit = .milliseconds(300)
    let fetcher = try KeysFetcher("http://127.0.0.1:\(server.port)/keys.json", options: options)
    let error = await #expect(throws: MessageSendingError.self) { try await fetcher.fetch() }
    #expect(error?.message.contains("did not respond within") == true)
  }

  @Test("Keys of a plain URL of another host are refused before anything is sent") func plainHTTP() {
    for url in ["http://keys.example/keys.json", "ftp://keys.example", "https://", "https://user@host/keys.json"] {
      let error = #expect(throws: MessageSendingError.self, "\(url)") { try KeysFetcher(url) }
      #expect(error?.code == .invalidArgument)
    }
  }
}
