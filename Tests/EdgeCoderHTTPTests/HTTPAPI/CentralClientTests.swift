import EdgeCoder
import EdgeCoderTesting
import HummingbirdTesting
import JSONValues
import NIOConcurrencyHelpers
import Testing

@testable import EdgeCoderHTTP

@Suite("The client of a central, against the real API", .timeLimit(.minutes(5))) struct CentralClientTests {
  private func withClient<Value: Sendable>(
    _ service: FakeService, _ test: @Sendable (CentralClient) async throws -> Value
  ) async throws -> Value {
    try await withAPI(service, .live) {
      try await test(CentralClient(url: "http://127.0.0.1:\(try #require($0.port))/", statusTimeout: .seconds(20)))
    }
  }

  @Test("The reply comes back whole") func theReplyComesBackWhole() async throws {
    let service = FakeService(output: "Grüß dich 🐟", .counted)
    let reply = try await withClient(service) { try await $0.generate(prompt: "hallo", maxTokens: 7) }
    var expected = InferenceReply(id: "ID-1", output: "Grüß dich 🐟", ok: true, durationMs: 42, phone: "Pixel")
    expected.completion = .counted
    #expect(reply == expected)
    #expect(service.calls == [.init(prompt: "hallo", maxTokens: 7)])
  }

  @Test("A phone's failure stays a failure at the client") func aPhonesFailureStaysOne() async throws {
    let reply = try await withClient(FakeService(output: "[no model loaded]", ok: false)) {
      try await $0.generate(prompt: "hallo", maxTokens: nil)
    }
    #expect(!reply.ok)
    #expect(reply.output == "[no model loaded]")
  }

  @Test("A request with details arrives whole, and the parts of its reply come back") func details() async throws {
    var question = ChatMessage(.user, "Is it raining?")
    question.images = [ChatImage([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], offset: 3)].compactMap { $0 }
    var request = InferenceRequest(messages: [ChatMessage(.system, "Be brief."), question], maxTokens: 9)
    request.details.options.seed = 7
    request.details.thinking = .low
    request.details.toolChoice = .tool("weather")
    request.details.format = .schema(.object([.init("type", .string("object"))]), isStrict: true)
    request.details.tools = [.object([.init("function", .object([.init("name", .string("weather"))]))])]
    let call = ToolCall(id: "call_1", name: "weather", arguments: #"{"z":1,"a":2}"#)
    let parts: [ReplyPart] = [
      .waiting(ahead: 2), .waiting(ahead: 1), .ignored([.topK, .seed]), .thinking("hm"), .text("so"), .toolCall(call),
    ]
    let service = FakeService(output: "so", Completion(.toolCalls), parts: parts)
    let seen = NIOLockedValueBox<[ReplyPart]>([])
    let asked = request
    let reply = try await withClient(service) { client in
      try await client.generate(asked) { part in seen.withLockedValue { $0.append(part) } }
    }
    #expect(service.requests == [request])
    #expect(seen.withLockedValue { $0 } == parts)
    #expect(reply.output == "so")
    #expect(reply.completion?.reason == .toolCalls)
    #expect(reply.phone == "Pixel")
  }

  @Test(
    "A refusal of details keeps its code and words",
    arguments: [
      (#"{"form":{"version":1,"prompt":"a"},"prompt":"b"}"#, "exclude each other"),
      (#"{"form":{"version":2,"prompt":"a"}}"#, "`form`: `version` is not 1"),
      (#"{"form":7}"#, "`form`: `form` is no object"),
      (#"{"form":{"version":1,"prompt":"a"},"maxTokens":0}"#, "`maxTokens`"),
    ])
  func invalidForms(body: String, words: String) async throws {
    let response = try await withAPI(FakeService(output: "x")) { try await $0.post("/api/generate", body) }
    #expect(response.status == .badRequest)
    #expect(try response.errorText()?.contains(words) == true, "\(response.text)")
  }

  @Test("Without `progress` the queue is not in the reply, and what is ignored is in its head") func withoutProgress()
    async throws
  {
    let service = FakeService(output: "so", parts: [.waiting(ahead: 2), .ignored([.seed]), .text("so")])
    let response = try await withAPI(service) {
      try await $0.post("/api/generate", #"{"stream":true,"form":{"version":1,"prompt":"a","options":{"seed":1}}}"#)
    }
    #expect(!response.text.contains("ahead"))
    #expect(response.headers[.ignored] == "seed")
  }

  @Test("A failure after the place in the queue is an error in the stream") func failureAfterWaiting() async throws {
    let service = FakeService(parts: [.waiting(ahead: 1)]) { _ in throw InferenceError(.disconnected, "it left") }
    let error = try await withClient(service) { client in
      await #expect(throws: InferenceError.self) { try await client.generate(prompt: "hallo", maxTokens: nil) }
    }
    #expect(error?.code == .disconnected)
    #expect(error?.message == "it left")
  }

  @Test("What no phone supports is unsupported at the client, too") func unsupported() async throws {
    let service = FakeService(failing: InferenceError(.unsupported, "Pixel does not support tools"))
    let error = try await withClient(service) { client in
      await #expect(throws: InferenceError.self) { try await client.generate(prompt: "hallo", maxTokens: nil) }
    }
    #expect(error?.code == .unsupported)
    #expect(error?.message == "Pixel does not support tools")
  }

  @Test("A whole reply to a form has its calls of tools") func aWholeReply() async throws {
    let call = ToolCall(id: "c", name: "f", arguments: "{}")
    let service = FakeService(output: "", Completion(.toolCalls), parts: [.toolCall(call)])
    let response = try await withAPI(service) {
      try await $0.post("/api/generate", #"{"form":{"version":1,"prompt":"a","options":{"seed":1}}}"#)
    }
    #expect(try response.json()["done_reason"] as? String == "tool_calls")
    #expect(try response.json()["toolCalls"] as? [[String: String]] == [["id": "c", "name": "f", "arguments": "{}"]])
  }

  enum Ending: Equatable {
    case reply(InferenceReply)
    case error(CentralClientError.Code)
  }

  /// What a central may send for a prompt, and what the client makes of it.
  static let answers: [(lines: [String], heard: [String], end: Ending)] = [
    (
      [
        #"{"response":"Once ","done":false}"#, #"{"response":"upon","done":false}"#,
        #"{"response":" a time","done":true,"id":"7","done_reason":"length"}"#,
      ],
      ["Once ", "upon"],
      .reply(
        InferenceReply(
          id: "7", answer: .text("Once upon a time"), durationMs: 0, phone: "", completion: Completion(.length)))
    ),
    (
      [
        #"{"response":"Once ","done":false}"#,
        #"{"ok":false,"error":"it died","code":"phone_failed","output":"[died]","deviceName":"p"}"#,
      ],
      ["Once "], .reply(InferenceReply(id: "", output: "[died]", ok: false, durationMs: 0, phone: "p"))
    ),
    ([#"{"response":"Once ","done":false}"#], ["Once "], .error(.interrupted)),
    ([#"{"response":"Once ","done":false}"#, "nonsense"], ["Once "], .error(.notACentral)),
    ([#"{"ok":false,"error":"no","code":"internal_error","output":""}"#], [], .error(.refused)),
  ]

  @Test("Each piece is delivered before the next is sent", arguments: answers.indices)
  func eachPieceIsHandedOnBeforeTheNextIsSent(index: Int) async throws {
    let (lines, pieces, end) = Self.answers[index]
    let taken = Signal()
    let heard = NIOLockedValueBox<[String]>([])
    let result = try await FakeEngineServer.run { request, connection in
      #expect(String(decoding: request.body, as: UTF8.self).contains(#""stream":true"#))
      try await connection.head()
      for (number, line) in lines.enumerated() {
        if number > 0 { await taken.wait() }
        // Cut where it may be cut on the way.
        try await connection.send(String(line.prefix(9)))
        try await connection.send(String(line.dropFirst(9)) + "\n")
      }
    } test: { url in
      do {
        let client = CentralClient(url: url)
        return Ending.reply(
          try await client.generate(prompt: "x", maxTokens: nil) { piece in
            heard.withLockedValue { $0.append(piece) }
            taken.fire()
          })
      } catch let error as CentralClientError {
        return Ending.error(error.code)
      }
    }
    #expect(heard.withLockedValue { $0 } == pieces)
    #expect(result == end)
  }

  @Test("The status comes back whole") func theStatusComesBackWhole() async throws {
    var status = CentralStatus(
      connected: true, scanning: true, modelState: "ready",
      phones: [PhoneStatus(id: "1", name: "Pixel", state: "ready")])
    status.lastSeenMs = 1
    status.deviceName = "Pixel"
    status.rssi = -40
    let service = FakeService(status: status) { _ in throw CancellationError() }
    #expect(try await withClient(service) { try await $0.fetchStatus() } == status)
  }

  @Test("The errors of the central keep their code") func theCentralsErrorsKeepTheirCode() async throws {
    for code in [
      InferenceError.Code.noPhoneReady, .disconnected, .writeFailed, .busy, .timedOut, .requestTooLarge,
    ] {
      let error = try await withClient(FakeService(failing: InferenceError(code, "because"))) { client in
        await #expect(throws: InferenceError.self) { try await client.generate(prompt: "hallo", maxTokens: nil) }
      }
      #expect(error?.code == code)
      #expect(error?.message == "because")
    }
  }

  @Test("Cancelling reaches the service") func cancellingReachesTheService() async throws {
    let started = Signal()
    let cancelled = Signal()
    let service = FakeService { _ in
      started.fire()
      do { try await untilCancelled() } catch { cancelled.fire() }
      throw CancellationError()
    }
    try await withClient(service) { client in
      let asking = Task { try await client.generate(prompt: "hallo", maxTokens: nil) }
      await started.wait()
      asking.cancel()
      await cancelled.wait()
    }
  }

  @Test("Another server is not a central", arguments: ["<html>", "{}", "[]", #"{"models":[]}"#])
  func somethingElseIsNoCentral(body: String) async throws {
    let error = try await FakeEngineServer.run { _, connection in
      try await connection.reply(body)
    } test: { url in
      let error = await #expect(throws: CentralClientError.self) {
        try await CentralClient(url: url).generate(prompt: "hallo", maxTokens: nil)
      }
      await #expect(throws: CentralClientError.self) {
        try await CentralClient(url: url, statusTimeout: .seconds(20)).isReachable()
      }
      return error
    }
    #expect(error?.code == .notACentral)
  }

  @Test("A central that is not running is unreachable") func nobodyThere() async throws {
    // Port 9 (discard) is served nowhere by default, and binding it takes root.
    let client = CentralClient(url: "http://127.0.0.1:9", statusTimeout: .seconds(20))
    #expect(try await !client.isReachable())
    let error = await #expect(throws: CentralClientError.self) {
      try await client.generate(prompt: "x", maxTokens: nil)
    }
    #expect(error?.code == .unreachable)
    #expect(await client.status() == CentralStatus(connected: false, scanning: false))
  }
}
