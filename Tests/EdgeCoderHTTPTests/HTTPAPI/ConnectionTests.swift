import EdgeCoder
import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import Logging
import NIOConcurrencyHelpers
import SystemTesting
import Testing

@testable import EdgeCoderHTTP

@Suite("The HTTP API at the socket", .timeLimit(.minutes(5))) struct ConnectionTests {
  private static let prompts = [
    ("/api/generate", #"{"prompt":"hi"}"#), ("/api/chat", #"{"messages":[{"role":"user","content":"hi"}]}"#),
    ("/v1/chat/completions", #"{"stream":true,"messages":[{"role":"user","content":"hi"}]}"#),
  ]

  private static func head(_ path: String, length: Int) -> String {
    "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\n"
  }

  @Test("A client that disconnects cancels its request", arguments: prompts, [true, false])
  func aClientThatGoesAwayCancelsItsRequest(prompt: (String, String), politely: Bool) async throws {
    let started = Signal()
    let cancelled = Signal()
    let service = FakeService { _ in
      started.fire()
      do { try await untilCancelled() } catch { cancelled.fire() }
      throw CancellationError()
    }
    try await withAPI(service, .live) { client in
      let (path, body) = prompt
      let raw = try RawClient(port: try #require(client.port))
      try raw.send(Self.head(path, length: body.utf8.count) + body)
      await started.wait()
      raw.close(reset: !politely)
      await cancelled.wait()
    }
  }

  @Test("Other clients continue when one disconnects") func othersGoOnWhenOneClientLeaves() async throws {
    let started = Signal()
    let cancelled = Signal()
    let service = FakeService { call in
      guard call.prompt == "stay" else {
        started.fire()
        do { try await untilCancelled() } catch { cancelled.fire() }
        throw CancellationError()
      }
      await cancelled.wait()
      return InferenceReply(id: "2", output: "still here", ok: true, durationMs: 1, phone: "p")
    }
    try await withAPI(service, .live) { client in
      let raw = try RawClient(port: try #require(client.port))
      let body = #"{"prompt":"leave"}"#
      try raw.send(Self.head("/api/generate", length: body.utf8.count) + body)
      await started.wait()
      async let other = client.post("/api/generate", #"{"prompt":"stay"}"#)
      raw.close(reset: false)
      #expect(try await other.json()["output"] as? String == "still here")
    }
  }

  @Test("A body that never comes is 408") func aBodyThatNeverComesIs408() async throws {
    let configuration = HTTPAPI.Configuration(port: 0, bodyTimeout: .milliseconds(100))
    try await withAPI(FakeService(output: "x"), .live, configuration: configuration) { client in
      let raw = try RawClient(port: try #require(client.port))
      try raw.send(Self.head("/v1/completions", length: 100) + "{")
      let reply = try await raw.readToEnd()
      #expect(reply.hasPrefix("HTTP/1.1 408"))
      #expect(reply.contains("the body did not arrive within its timeout"))
    }
  }

  @Test("One connection serves many prompts") func oneConnectionServesManyPrompts() async throws {
    try await withAPI(FakeService(output: "x"), .live) { client in
      let body = #"{"prompt":"hi"}"#
      let request = Self.head("/api/generate", length: body.utf8.count) + body
      let last = request.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n")
      let replies = try await RawClient.exchange(port: try #require(client.port), request + request + last)
      #expect(replies.components(separatedBy: "HTTP/1.1 200").count == 4)
    }
  }

  /// The status answers while every other connection waits for a phone.
  @Test("Many waiting clients do not hold up the status") func manyWaitingClientsDoNotHoldUpTheStatus() async throws {
    let clients = 50
    let waitingCount = NIOLockedValueBox(0)
    let allWait = Signal()
    let service = FakeService { _ in
      if waitingCount.withLockedValue({
        $0 += 1; return $0
      }) == clients {
        allWait.fire()
      }
      try await untilCancelled()
      throw CancellationError()
    }
    try await withAPI(service, .live) { client in
      let body = #"{"prompt":"hi"}"#
      let waiting = try (0..<clients).map { _ in
        let raw = try RawClient(port: try #require(client.port))
        try raw.send(Self.head("/api/generate", length: body.utf8.count) + body)
        return raw
      }
      await allWait.wait()
      #expect(try await client.request(.get, "/status").status == .ok)
      for raw in waiting { raw.close(reset: false) }
    }
  }

  /// Cancelling is not graceful, but neither is it a crash, whatever is being accepted at that moment.
  @Test("A cancelled server ends with all its connections") func aCancelledServerEndsWithAllItsConnections()
    async throws
  {
    for _ in 0..<6 {
      let waits = Signal()
      let cancelled = Signal()
      let service = FakeService { _ in
        waits.fire()
        do { try await untilCancelled() } catch { cancelled.fire() }
        throw CancellationError()
      }
      let (ports, listening) = AsyncStream.makeStream(of: Int.self)
      let api = HTTPAPI(
        service: service, configuration: .init(port: 0),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        onListening: { listening.yield($0) })
      let server = Task { try await api.run() }
      var port = 0
      for await number in ports {
        port = number
        break
      }
      let body = #"{"prompt":"hi"}"#
      let raw = try RawClient(port: port)
      try raw.send(Self.head("/api/generate", length: body.utf8.count) + body)
      await waits.wait()
      async let knocking: Void = RawClient.knock(port: port)
      server.cancel()
      try await server.value
      await cancelled.wait()
      #expect(try await raw.readToEnd().isEmpty)
      await knocking
    }
  }

  @Test(
    "Malformed HTTP closes the connection",
    arguments: [
      "\r\n\r\n", "GARBAGE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\u{0} HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}",
    ])
  func whatIsNotHTTPEndsTheConnection(bytes: String) async throws {
    try await withAPI(FakeService(output: "x"), .live) { client in
      let raw = try RawClient(port: try #require(client.port))
      try raw.send(bytes)
      raw.finishSending()
      let reply = try await raw.readToEnd()
      #expect(!reply.contains("200 OK"))
      #expect(try await client.request(.get, "/status").status == .ok)
    }
  }
}
