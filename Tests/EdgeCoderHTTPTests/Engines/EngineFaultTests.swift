import EdgeCoder
import EdgeCoderHTTP
import SystemTesting
import Testing

@Suite("Faults below the protocols of both engines", .timeLimit(.minutes(5))) struct EngineFaultTests {
  enum Kind: CaseIterable {
    case ollama, openAI

    func engine(url: String, limits: EngineLimits = EngineLimits()) throws -> any Engine {
      switch self {
      case .ollama: try OllamaEngine(url: url, model: "m", limits: limits)
      case .openAI: try OpenAIEngine(url: url, model: "m", limits: limits)
      }
    }

    /// One piece of text, as a line of this protocol.
    func piece(_ text: String) -> String {
      switch self {
      case .ollama: "{\"response\":\"\(text)\",\"done\":false}\n"
      case .openAI: "data: {\"choices\":[{\"delta\":{\"content\":\"\(text)\"}}]}\n\n"
      }
    }
  }

  private func failure(
    _ kind: Kind, limits: EngineLimits = EngineLimits(), _ script: @escaping FakeEngineServer.Script
  ) async throws -> EngineError? {
    try await FakeEngineServer.run(script) { url in
      await #expect(throws: EngineError.self) {
        _ = try await collect(kind.engine(url: url, limits: limits).generate(.init(prompt: "hi", maxTokens: 5)))
      }
    }
  }

  @Test("An address without a server is unreachable", arguments: Kind.allCases) func nobodyListens(kind: Kind)
    async throws
  {
    let engine = try kind.engine(url: "http://127.0.0.1:\(LoopbackPort.free())", limits: .patient)
    let error = await #expect(throws: EngineError.self) {
      _ = try await collect(engine.generate(.init(prompt: "hi", maxTokens: 5)))
    }
    #expect(error?.code == .unreachable)
    #expect(error?.message == "no model server answers")
    #expect(await engine.modelState() == .notInstalled)
  }

  @Test("A server that closes within the stream is an error", arguments: Kind.allCases) func deathInMidStream(
    kind: Kind
  ) async throws {
    let error = try await failure(kind) { _, connection in
      try await connection.chunkedHead(type: "x/y")
      try await connection.chunk(Array(kind.piece("a").utf8))
    }
    #expect(error?.code == .interrupted)
  }

  @Test("A server that closes before the head is an error", arguments: Kind.allCases) func deathBeforeTheHead(
    kind: Kind
  ) async throws {
    let error = try await failure(kind) { _, _ in }
    #expect(error?.code == .interrupted)
  }

  @Test("A server that does not speak HTTP is an error", arguments: Kind.allCases) func notHTTP(kind: Kind) async throws
  {
    let error = try await failure(kind) { _, connection in try await connection.send("SSH-2.0-OpenSSH_9.2\r\n") }
    #expect(error?.code == .badReply)
  }

  @Test("Redirects are not followed", arguments: Kind.allCases) func redirectsAreNotFollowed(kind: Kind) async throws {
    let error = try await failure(kind) { _, connection in
      try await connection.send("HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
    }
    #expect(error?.code == .refused)
  }

  @Test("Silence before the head times out", arguments: Kind.allCases) func silenceBeforeTheHead(kind: Kind)
    async throws
  {
    let error = try await failure(kind, limits: EngineLimits(firstPiece: .milliseconds(200))) { _, connection in
      await connection.untilClosedByClient()
    }
    #expect(error?.code == .timedOut)
  }

  @Test("Silence within the stream times out", arguments: Kind.allCases) func silenceInMidStream(kind: Kind)
    async throws
  {
    let error = try await failure(kind, limits: EngineLimits(idle: .milliseconds(200))) { _, connection in
      try await connection.head()
      try await connection.send(kind.piece("a"))
      await connection.untilClosedByClient()
    }
    #expect(error?.code == .timedOut)
  }

  @Test("Keep alive comments are no progress") func keepAliveCommentsAreNoProgress() async throws {
    let error = try await failure(.openAI, limits: EngineLimits(firstPiece: .milliseconds(200))) { _, connection in
      try await connection.head(type: "text/event-stream")
      while true {
        try await connection.send(": ping\n\n")
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    #expect(error?.code == .timedOut)
  }

  @Test("A line without an end is refused", arguments: Kind.allCases) func aLineWithoutEnd(kind: Kind) async throws {
    var limits = EngineLimits()
    limits.lineBytes = 100_000
    let error = try await failure(kind, limits: limits) { _, connection in
      try await connection.head()
      while true { try await connection.send(String(repeating: "x", count: 20_000)) }
    }
    #expect(error?.code == .badReply)
  }

  @Test("A reply without an end is refused", arguments: Kind.allCases) func aReplyWithoutEnd(kind: Kind) async throws {
    var limits = EngineLimits()
    limits.replyBytes = 10_000
    let error = try await failure(kind, limits: limits) { _, connection in
      try await connection.head()
      while true { try await connection.send(kind.piece(String(repeating: "x", count: 1000))) }
    }
    #expect(error?.code == .badReply)
  }

  @Test("An endless reply without text times out", arguments: Kind.allCases) func anEndlessReplyOfNothing(kind: Kind)
    async throws
  {
    var limits = EngineLimits()
    limits.wireBytes = 100_000
    let error = try await failure(kind, limits: limits) { _, connection in
      try await connection.head()
      let nothing = String(repeating: kind.piece(""), count: 200)
      while true { try await connection.send(nothing) }
    }
    #expect(error?.code == .badReply)
  }

  @Test("A refusal without an end is truncated", arguments: Kind.allCases) func aRefusalWithoutEndIsCutOff(kind: Kind)
    async throws
  {
    let error = try await failure(kind) { _, connection in
      try await connection.head(500)
      while true { try await connection.send(String(repeating: "x", count: 20_000)) }
    }
    #expect(error?.code == .refused)
  }

  @Test("Cancelling stops the engine", arguments: Kind.allCases) func cancellingStopsTheEngine(kind: Kind) async throws
  {
    let delivered = Signal()
    let closed = Signal()
    try await FakeEngineServer.run { _, connection in
      try await connection.head()
      try await connection.send(kind.piece("a"))
      await connection.untilClosedByClient()
      closed.fire()
    } test: { url in
      let stream = try kind.engine(url: url).generate(.init(prompt: "hi", maxTokens: 5))
      let consumer = Task {
        for try await _ in stream { delivered.fire() }
      }
      await delivered.wait()
      consumer.cancel()
      await closed.wait()
    }
  }

  @Test("Dropping the stream stops the engine", arguments: Kind.allCases) func droppingTheStreamStopsTheEngine(
    kind: Kind
  ) async throws {
    let closed = Signal()
    try await FakeEngineServer.run { _, connection in
      try await connection.head()
      try await connection.send(kind.piece("a"))
      await connection.untilClosedByClient()
      closed.fire()
    } test: { url in
      for try await _ in try kind.engine(url: url).generate(.init(prompt: "hi", maxTokens: 5)) { break }
      await closed.wait()
    }
  }

  @Test("A list of models that fails is the error of the prompt", arguments: BadList.allCases) func aBadList(
    list: BadList
  ) async throws {
    let error = try await FakeEngineServer.run { _, connection in
      try await list.send(connection)
    } test: { url in
      let engine = try OllamaEngine(url: url, limits: EngineLimits(state: .milliseconds(500)))
      #expect(await engine.modelState() == .error)
      return await #expect(throws: EngineError.self) {
        _ = try await collect(engine.generate(.init(prompt: "hi", maxTokens: 5)))
      }
    }
    #expect(error?.code == list.code)
    #expect(error?.message == list.message)
  }

  enum BadList: CaseIterable {
    case withoutEnd, cutOff, reset, silent

    var code: EngineError.Code {
      switch self {
      case .withoutEnd: .badReply
      case .cutOff, .reset: .interrupted
      case .silent: .timedOut
      }
    }

    var message: String {
      switch self {
      case .withoutEnd: "the model server sent more than 4194304 bytes"
      case .cutOff: "the model server closed the connection before the reply was complete"
      case .reset: "the model server closed the connection without a reply"
      case .silent: "the model server did not answer in time"
      }
    }

    func send(_ connection: FakeEngineServer.Connection) async throws {
      try await connection.chunkedHead(type: "application/json")
      try await connection.chunk(Array("{\"models\":[".utf8))
      switch self {
      case .withoutEnd: while true { try await connection.chunk([UInt8](repeating: 32, count: 65536)) }
      case .cutOff: break
      case .reset: try await connection.reset()
      case .silent: await connection.untilClosedByClient()
      }
    }
  }

  @Test("A server that hangs has the state error", arguments: Kind.allCases) func aServerThatHangsIsInError(kind: Kind)
    async throws
  {
    let state = try await FakeEngineServer.run { _, connection in
      await connection.untilClosedByClient()
    } test: { url in
      try await kind.engine(url: url, limits: EngineLimits(state: .milliseconds(200))).modelState()
    }
    #expect(state == .error)
  }

  @Test(
    "A malformed address is refused at once",
    arguments: [
      "", "127.0.0.1:8080", "ftp://a", "http://", "unix:///run/x", "http://user:pass@127.0.0.1",
      "http://127.0.0.1:65536", "http://127.0.0.1:99999999999999999999",
    ])
  func whatIsNoAddressIsSaidAtOnce(url: String) {
    for kind in Kind.allCases {
      let error = #expect(throws: EngineError.self) { try kind.engine(url: url) }
      #expect(error?.hint != nil)
      #expect(error?.description.contains("pass@") == false)
    }
  }
}
