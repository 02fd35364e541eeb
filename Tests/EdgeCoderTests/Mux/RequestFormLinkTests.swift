import EdgeCoderTesting
import Streams
import SystemTesting
import Testing

@testable import EdgeCoder

/// An engine that supports what a test says, records its requests, and answers with what the test says.
private final class RecordingEngine: Engine {
  let name = "recording"
  let fields: Set<RequestField>
  private let outputs: [EngineOutput]
  private let seen = Lock<[InferenceRequest]>([])

  init(_ fields: Set<RequestField>, _ outputs: [EngineOutput] = [.text("ok")]) {
    self.fields = fields
    self.outputs = outputs
  }

  var requests: [InferenceRequest] { seen.withLock { $0 } }

  func modelState() async -> ModelState { .ready }

  func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    seen.withLock { $0.append(request) }
    let (stream, source) = AsyncThrowingStream<EngineOutput, any Error>.makeStream()
    for output in outputs { source.yield(output) }
    source.finish()
    return stream
  }
}

@Suite("Requests with details between a central and a phone", .timeLimit(.minutes(5))) struct RequestFormLinkTests {
  private static let all = Set(RequestField.allCases)
  private static let call = ToolCall(id: "call_1", name: "weather", arguments: #"{"city":"Zürich"}"#)

  /// Asks a phone over a bearer; `nil` is the characteristics.
  private func ask(
    _ request: InferenceRequest, over bearer: MuxBearer?, _ engine: RecordingEngine
  ) async throws -> (reply: InferenceReply, parts: [ReplyPart]) {
    let air = LoopbackCentral()
    let phone = LoopbackPhone(muxBearers: bearer.map { [$0] } ?? [])
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    let central = Central(scanner: air, connector: air, configuration: configuration)
    let service = PhoneService(transport: phone, engine: engine)
    let parts = Lock<[ReplyPart]>([])
    let reply = try await running([service.run, central.run]) {
      air.see(phone)
      try await eventually { await central.status().phones.first.map { $0.state == "ready" } ?? false }
      #expect(await central.status().phones.first?.linkTakesDetails == bearer.map { _ in true })
      return try await central.generate(request) { part in parts.withLock { $0.append(part) } }
    }
    return (reply, parts.withLock { $0 })
  }

  @Test("Every field reaches the engine", arguments: MuxBearer.allCases) func everyFieldArrives(bearer: MuxBearer)
    async throws
  {
    let engine = RecordingEngine(Self.all)
    let (reply, parts) = try await ask(RequestFormTests.full, over: bearer, engine)
    #expect(engine.requests == [RequestFormTests.full])
    #expect(reply.output == "ok")
    #expect(parts == [.text("ok")])
  }

  @Test("Calls of tools reach the central, also without any text") func callsArrive() async throws {
    let engine = RecordingEngine(Self.all, [.toolCall(Self.call), .end(Completion(.toolCalls))])
    let (reply, parts) = try await ask(RequestFormTests.full, over: .l2cap, engine)
    #expect(parts == [.toolCall(Self.call)])
    #expect(reply.answer == .text(""))
    #expect(reply.completion?.reason == .toolCalls)
  }

  @Test("What the engine ignores is named before the text") func whatTheEngineIgnores() async throws {
    var request = InferenceRequest(messages: [ChatMessage(.system, "S"), ChatMessage(.user, "hi")])
    request.details.options.seed = 7
    request.details.options.topK = 3
    let engine = RecordingEngine([.messages, .seed], [.ignored([.seed]), .text("ok")])
    let (_, parts) = try await ask(request, over: .l2cap, engine)
    #expect(parts == [.ignored([.topK, .seed]), .text("ok")])
    #expect(engine.requests.first?.prompt == "S\n\nhi")
  }

  @Test("The characteristics carry the prompt, and what they lose is named") func theCharacteristics() async throws {
    var request = InferenceRequest(messages: [ChatMessage(.system, "S"), ChatMessage(.user, "hi")], maxTokens: 5)
    request.details.options.temperature = 0
    let engine = RecordingEngine(Self.all)
    let (reply, parts) = try await ask(request, over: nil, engine)
    #expect(engine.requests == [InferenceRequest(prompt: "S\n\nhi", maxTokens: 5)])
    #expect(reply.output == "ok")
    #expect(parts == [.ignored([.messages, .temperature])])
  }

  @Test("What must not be lost is refused where it would be", arguments: [MuxBearer.l2cap, nil])
  func whatMustNotBeLost(bearer: MuxBearer?) async throws {
    var tools = InferenceRequest(prompt: "hi")
    tools.details.tools = RequestFormTests.full.details.tools
    var format = InferenceRequest(prompt: "hi")
    format.details.format = .json
    var picture = InferenceRequest(messages: [ChatMessage(.user, "hi")])
    picture.details.messages[0].images = [ChatImageTests.png]
    for (request, words) in [
      (tools, "does not support tools"), (format, "does not support structured outputs"),
      (picture, "does not support images"),
    ] {
      let engine = RecordingEngine(bearer == nil ? Self.all : [])
      if bearer == nil {
        let error = await #expect(throws: InferenceError.self) { try await ask(request, over: bearer, engine) }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains(words) == true)
      } else {
        let (reply, _) = try await ask(request, over: bearer, engine)
        #expect(reply.answer.refusal?.kind == .unsupported)
        #expect(reply.answer.refusal?.reason.contains(words) == true)
      }
      #expect(engine.requests.isEmpty)
    }
  }

  @Test("A phone of before gets the prompt alone") func aPhoneOfBefore() async throws {
    let before = MuxTerms(window: 65536, frameLimit: 600, inflates: false, takesDetails: true)
    var now = before
    now.takesForms = true
    var machine = MuxClientMachine(terms: now, bearerLimit: 600)
    #expect(try machine.handle(.welcome(before)) == [.ready])
    #expect(!machine.takesForms)
    var other = MuxClientMachine(terms: now, bearerLimit: 600)
    #expect(try other.handle(.welcome(now)) == [.ready])
    #expect(other.takesForms)
  }

  @Test("A form that is not valid is refused, and the mux goes on") func aFormThatIsNotValid() throws {
    let terms = MuxTerms(window: 65536, frameLimit: 600, inflates: false, takesDetails: true, takesForms: true)
    var machine = MuxServerMachine(terms: terms, bearerLimit: 600, requestLimit: 1000)
    _ = try machine.handle(.hello(terms))
    _ = machine.next()
    let form = Array(#"{"version":1,"prompt":"a","audio":[]}"#.utf8)
    let opened = MuxFrame.open(stream: 1, maxTokens: 0, length: UInt32(form.count), isForm: true, text: form)
    #expect(try machine.handle(opened) == [])
    let sent = machine.next()
    let bytes = try #require(sent)
    #expect(
      try MuxFrame.decode(bytes)
        == .end(stream: 1, status: .unsupported, durationMs: 0, text: Array("`audio` is not supported".utf8)))
    #expect(try machine.handle(.open(stream: 2, maxTokens: 0, length: 1, text: [65])).count == 1)
  }

  @Test("A reply that is no parts is a bad reply", arguments: ["plain text\n", "{\"text\":\"a\"}\n{\"text\":"])
  func aReplyThatIsNoParts(text: String) async throws {
    let (near, far) = MemoryChannel.pair(limit: 600)
    let client = MuxClient(near, deflates: false, replyLimit: 1000, time: .continuous)
    let terms = MuxTerms(window: 65536, frameLimit: 600, inflates: false, takesDetails: true, takesForms: true)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { _ = await client.run() }
      group.addTask {
        _ = try await far.receive()
        try await far.send(MuxFrame.welcome(terms).encoded())
        _ = try await far.receive()
        try await far.send(MuxFrame.end(stream: 1, status: .ok, durationMs: 0, text: Array(text.utf8)).encoded())
      }
      try await client.waitUntilReady()
      await #expect(throws: MuxClient.BadParts.self) { try await client.exchange(RequestFormTests.full) }
      group.cancelAll()
    }
  }
}
