import EdgeCoder
import EdgeCoderTesting
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOConcurrencyHelpers
import Testing

@testable import EdgeCoderHTTP

@Suite("Failures and limits, in the form of each family of clients", .timeLimit(.minutes(5))) struct FailureTests {
  private static let prompts = [
    ("/api/generate", #"{"prompt":"hi"}"#), ("/api/generate", #"{"model":"edgecoder","prompt":"hi"}"#),
    ("/api/chat", #"{"messages":[{"role":"user","content":"hi"}]}"#),
    ("/v1/chat/completions", #"{"messages":[{"role":"user","content":"hi"}]}"#),
    ("/v1/completions", #"{"prompt":"hi"}"#),
  ]

  private static let failures: [(InferenceError, Int, String)] = [
    (
      InferenceError(.noPhoneReady, "no phone is ready", hint: "open EdgeCoder"), 503,
      "no phone is ready (open EdgeCoder)"
    ),
    (InferenceError(.disconnected, "BLE disconnected"), 503, "BLE disconnected"),
    (InferenceError(.writeFailed, "write failed"), 503, "write failed"),
    (InferenceError(.timedOut, "no reply in 90 s"), 504, "no reply in 90 s"),
    (InferenceError(.requestTooLarge, "300000 bytes"), 413, "300000 bytes"),
  ]

  @Test("The errors of the central have their status") func theCentralsErrorsHaveTheirStatus() async throws {
    for (error, status, message) in Self.failures {
      try await withAPI(FakeService(failing: error)) { client in
        for (path, body) in Self.prompts {
          let response = try await client.post(path, body)
          #expect(response.status.code == status, "\(path) \(error)")
          #expect(try response.errorText() == message)
          #expect(response.headers[.contentType] == "application/json")
        }
      }
    }
  }

  @Test("The limit is 504 and cancels the request") func theLimitIs504AndCancelsTheRequest() async throws {
    let cancelled = NIOLockedValueBox(0)
    let service = FakeService { _ in
      do { try await untilCancelled() } catch { cancelled.withLockedValue { $0 += 1 } }
      throw CancellationError()
    }
    try await withAPI(service, configuration: .init(port: 0, replyTimeout: .milliseconds(50))) { client in
      for (path, body) in Self.prompts {
        let response = try await client.post(path, body)
        #expect(response.status.code == 504)
        #expect(try response.errorText() == "no text arrived within 0 s")
      }
    }
    #expect(cancelled.withLockedValue { $0 } == Self.prompts.count)
  }

  @Test("An error of another kind is 500 and says nothing") func anErrorOfAnotherKindIs500AndSaysNothing() async throws
  {
    struct Secret: Error { let prompt = "geheim" }
    try await withAPI(FakeService { _ in throw Secret() }) { client in
      for (path, body) in Self.prompts {
        let response = try await client.post(path, body)
        #expect(response.status.code == 500)
        #expect(try response.errorText() == "internal error")
      }
    }
  }

  @Test("A large body is 413", arguments: [TestingSetup.router, .live]) func aLargeBodyIs413(setup: TestingSetup)
    async throws
  {
    let service = FakeService(output: "x")
    let configuration = HTTPAPI.Configuration(port: 0, bodyLimit: 1000)
    try await withAPI(service, setup, configuration: configuration) { client in
      let fitting = #"{"prompt":"\#(String(repeating: "x", count: 1000 - 13))"}"#
      #expect(fitting.utf8.count == 1000)
      let response = try await client.post("/api/generate", fitting)
      #expect(response.status == .ok)
    }
    try await withAPI(service, setup, configuration: configuration) { client in
      let response = try await client.post("/v1/completions", #"{"prompt":"\#(String(repeating: "x", count: 988))"}"#)
      #expect(response.status.code == 413)
      #expect(try response.errorText() == "the body exceeds 1000 bytes")
    }
    #expect(service.calls.count == 1)
  }

  @Test("Unknown paths are 404 in JSON") func unknownPathsAre404InJSON() async throws {
    try await withAPI(FakeService(output: "x")) { client in
      for path in ["/nope", "/api", "/v1", "/api/generate/more", "/v1/embeddingsx", "/%ff"] {
        let response = try await client.request(.get, path)
        #expect(response.status == .notFound, "\(path)")
        #expect(try response.errorText() == "not found")
      }
    }
  }

  @Test("Routes that phones do not have are 501, with the reason") func absentRoutesAre501() async throws {
    try await withAPI(FakeService(output: "x")) { client in
      for path in [
        "/v1/responses/1", "/v1/images/generations", "/v1/audio/speech",
        "/v1/moderations", "/api/push", "/api/create", "/api/copy", "/api/delete",
      ] {
        for method in [HTTPRequest.Method.get, .post, .delete] {
          let response = try await client.request(method, path)
          #expect(response.status == .notImplemented, "\(path)")
          #expect(try response.errorText()?.hasPrefix("\(path) is not supported: ") == true)
          #expect(response.headers[.shouldRetry] == (path.hasPrefix("/v1") ? "false" : nil))
        }
      }
    }
  }

  @Test("Wrong methods are 405") func wrongMethodsAre405() async throws {
    try await withAPI(FakeService(output: "x")) { client in
      for path in ["/api/generate", "/api/chat", "/api/show", "/v1/chat/completions", "/v1/completions"] {
        let response = try await client.request(.get, path)
        #expect(response.status == .methodNotAllowed)
        #expect(response.headers[.allow] == "POST")
        #expect(try response.errorText() == "\(path) accepts POST")
      }
      for path in ["/api/tags", "/api/ps", "/api/version", "/v1/models", "/v1/models/edgecoder", "/"] {
        #expect(try await client.post(path, "{}").status == .methodNotAllowed)
        #expect(try await client.request(.head, path).status == .ok)
      }
    }
  }
}
