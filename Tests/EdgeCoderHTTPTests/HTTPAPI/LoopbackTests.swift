import EdgeCoderHTTP
import EdgeCoderTesting
import Foundation
import HTTPTypes
import HummingbirdTesting
import IncomingHTTP
import SystemTesting
import Testing

@Suite("The clients that the HTTP API admits", .timeLimit(.minutes(5))) struct LoopbackTests {
  @Test(
    "Loopback hosts are allowed",
    arguments: [
      "localhost", "LOCALHOST", "localhost.", "localhost:11435", "127.0.0.1", "127.0.0.1:11435", "127.1.2.3:1", "[::1]",
      "[::1]:11435",
    ])
  func hostsOfThisMachine(host: String) {
    #expect(LoopbackRule.allows(host: host))
  }

  @Test(
    "Other hosts are refused",
    arguments: [
      "", "evil.example", "evil.example:11435", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.256",
      "127.0.0", "127.0.0.1.1", "127.0.0.+1", "127..0.1", "0.0.0.0", "10.0.0.1", "192.168.1.2", "[::2]", "[::1",
      "[::1]x", "::1x", "localhost:abc", "localhost:1:2", "user@localhost", "localhost/x", " localhost", "127.0.0.1 ",
      "1.27.0.0.1", "2130706433",
    ])
  func hostsOfOthers(host: String) {
    #expect(!LoopbackRule.allows(host: host))
  }

  @Test(
    "Loopback origins are allowed",
    arguments: ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8080", "tauri://localhost"])
  func originsOfThisMachine(origin: String) {
    #expect(LoopbackRule.allows(origin: origin))
  }

  @Test(
    "Other origins are refused",
    arguments: [
      "null", "", "https://evil.example", "http://localhost.evil.example", "http://localhost@evil.example",
      "http://localhost/", "localhost", "://localhost", "file://",
    ])
  func originsOfOthers(origin: String) {
    #expect(!LoopbackRule.allows(origin: origin))
  }

  /// On a real socket, as a browser behind a rebound name would write it.
  @Test(
    "Another host is 403",
    arguments: [
      "Host: evil.example", "Host: evil.example:PORT", "Host: localhost.evil.example", "Host: 0.0.0.0:PORT",
      "Host: [::]:PORT", "Host: [::ffff:127.0.0.1]:PORT", "Host: localhost:PORT, evil.example", "Host: ", "X: y",
      "Host: localhost\r\nHost: evil.example",
    ])
  func anotherHostIs403(header: String) async throws {
    let service = FakeService(output: "x")
    let reply = try await reply(of: service, to: header)
    #expect(reply.hasPrefix("HTTP/1.1 403 "), "\(reply)")
    #expect(!reply.contains("durationMs"))
    #expect(service.calls.isEmpty)
  }

  @Test(
    "Each name of this host is served",
    arguments: ["127.0.0.1", "127.0.0.1:PORT", "localhost:PORT", "LocalHost", "[::1]:PORT", "[::1]", "localhost.:PORT"])
  func thisHostIsServed(host: String) async throws {
    let service = FakeService(output: "x")
    let reply = try await reply(of: service, to: "Host: \(host)")
    #expect(reply.hasPrefix("HTTP/1.1 200 "), "\(reply)")
    #expect(service.calls.count == 1)
  }

  /// Sends a prompt with some headers, in which `PORT` is the port.
  private func reply(of service: FakeService, to headers: String) async throws -> String {
    try await withAPI(service, .live) { client in
      let port = try #require(client.port)
      let body = #"{"prompt":"hi"}"#
      let head = [
        "POST /api/generate HTTP/1.1", headers.replacing("PORT", with: "\(port)"),
        "Content-Length: \(body.utf8.count)", "Connection: close", "", body,
      ]
      return try await RawClient.exchange(port: port, head.joined(separator: "\r\n"))
    }
  }

  @Test("Another origin is 403") func anotherOriginIs403() async throws {
    let service = FakeService(output: "x")
    try await withAPI(service) { client in
      let response = try await client.post(
        "/api/generate", #"{"prompt":"hi"}"#, headers: [.origin: "https://evil.example"])
      #expect(response.status == .forbidden)
      #expect(response.headers[.accessControlAllowOrigin] == nil)
      let preflight = try await client.request(
        .options, "/api/generate", headers: [.origin: "https://evil.example", .accessControlRequestMethod: "POST"])
      #expect(preflight.status == .forbidden)
    }
    #expect(service.calls.isEmpty)
  }

  @Test(
    "Pages of programs and of origins that the user has named are admitted, and no others",
    arguments: [
      ("app://obsidian.md", true), ("tauri://x", true), ("vscode-webview://0abc", true),
      ("vscode-file://vscode-app", true),
      ("https://chat.example.org", true), ("https://chat.example.org:444", false), ("http://chat.example.org", false),
      ("https://chat.example.org.evil.example", false), ("https://app.evil.example", false), ("app://", false),
      ("appx://a", false), ("null", false), ("file://", false),
    ])
  func pagesOfProgramsAndNamedOrigins(origin: String, isAllowed: Bool) async throws {
    var configuration = HTTPAPI.Configuration(port: 0)
    configuration.origins = ["https://chat.example.org"]
    try await withAPI(FakeService(output: "x"), configuration: configuration) { client in
      let response = try await client.post("/api/generate", #"{"prompt":"hi"}"#, headers: [.origin: origin])
      #expect(response.status == (isAllowed ? .ok : .forbidden))
      #expect(response.headers[.accessControlAllowOrigin] == (isAllowed ? origin : nil))
    }
  }

  @Test("Pages of this host get CORS headers") func pagesOfThisMachineGetCORS() async throws {
    let origin = "http://localhost:3000"
    try await withAPI(FakeService(output: "x")) { client in
      let preflight = try await client.request(
        .options, "/v1/chat/completions", headers: [.origin: origin, .accessControlRequestMethod: "POST"])
      #expect(preflight.status == .noContent)
      #expect(preflight.headers[.accessControlAllowOrigin] == origin)
      #expect(preflight.headers[.accessControlAllowHeaders]?.contains("Content-Type") == true)
      #expect(preflight.headers[.accessControlAllowHeaders]?.contains("X-Stainless-Retry-Count") == true)
      let response = try await client.post("/api/generate", #"{"prompt":"hi"}"#, headers: [.origin: origin])
      #expect(response.status == .ok)
      #expect(response.headers[.accessControlAllowOrigin] == origin)
      #expect(response.headers[.vary] == "Origin")
    }
  }
}
