import DeterministicTesting
import EdgeCoderTesting
import JSONValues
import Streams
import SystemTesting
import Testing

@testable import EdgeCoder

/// An engine that thinks and calls tools when a request has details, and repeats prompts.
private struct AnsweringEngine: Engine {
  let name = "answering"
  let fields = Set(RequestField.allCases)
  let seen = Lock<[InferenceRequest]>([])

  func modelState() async -> ModelState { .ready }

  func generate(_ request: InferenceRequest) -> AsyncThrowingStream<EngineOutput, any Error> {
    seen.withLock { $0.append(request) }
    let (stream, source) = AsyncThrowingStream<EngineOutput, any Error>.makeStream()
    // It goes on until it is cancelled.
    if request.prompt == "wait" { return stream }
    if request.prompt == "context" {
      source.finish(throwing: EngineError(.contextExceeded, "the context has 9 tokens"))
      return stream
    }
    var completion = Completion(.stop)
    if request.details.isEmpty {
      source.yield(.text(request.prompt))
    } else {
      for output in Self.parts { source.yield(output) }
      completion = Completion(.toolCalls)
      completion.promptTokens = 11
      completion.cachedTokens = 3
      completion.promptTime = .milliseconds(2)
    }
    source.yield(.end(completion))
    source.finish()
    return stream
  }

  private static let parts: [EngineOutput] = [
    .ignored([.contextLength]), .thinking("hm…"), .text("ja\n"), .text("\u{2028}"), .toolCall(IndependentMuxTests.call),
  ]
}

@Suite(
  "The v2 mux of another implementation, written from its specification", .timeLimit(.minutes(5)),
  .enabled(if: MuxProgram.isInstalled, "no /usr/bin/python3"))
struct IndependentMuxTests {
  static let call = ToolCall(id: "call_1", name: "weather", arguments: #"{"city":"Zürich"}"#)

  /// A frame as the program writes it.
  private static func line(_ frame: MuxFrame) -> String {
    func text(_ bytes: [UInt8]) -> String { "text=\(MuxFrameTests.hex(bytes))" }
    func terms(_ terms: MuxTerms) -> String {
      let features = (terms.inflates ? 1 : 0) + (terms.takesDetails ? 2 : 0) + (terms.takesForms ? 4 : 0)
      return "stream=0 version=2 features=\(features) window=\(terms.window) limit=\(terms.frameLimit)"
    }
    switch frame {
    case .hello(let ours): return "HELLO \(terms(ours))"
    case .welcome(let ours): return "WELCOME \(terms(ours))"
    case .open(let stream, let maxTokens, let length, let isForm, let bytes):
      return "OPEN stream=\(stream) maxTokens=\(maxTokens) length=\(length) form=\(isForm ? 1 : 0) \(text(bytes))"
    case .data(let stream, let bytes): return "DATA stream=\(stream) \(text(bytes))"
    case .end(let stream, let status, let duration, let details, let bytes):
      let known = details.isEmpty ? "" : "details=\(MuxFrameTests.hex(details)) "
      return "END stream=\(stream) status=\(status.rawValue) duration=\(duration) \(known)\(text(bytes))"
    case .credit(let stream, let bytes): return "CREDIT stream=\(stream) bytes=\(bytes)"
    case .cancel(let stream): return "CANCEL stream=\(stream)"
    case .progress(let stream, let ahead): return "PROGRESS stream=\(stream) ahead=\(ahead)"
    case .fail(let reason): return "FAIL stream=0 \(text(Array(reason.utf8)))"
    }
  }

  /// Frames of every kind, with every status, and with texts that compress and texts that do not.
  private static var frames: [MuxFrame] {
    var random = SeededGenerator(seed: 21)
    var frames = MuxFrameTests.vectors.map(\.0)
    for status in MuxStatus.allCases {
      let text = (0..<Int.random(in: 0...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      let stream = UInt32.random(in: 1 ... .max, using: &random)
      frames += [
        .end(stream: stream, status: status, durationMs: .max, text: text),
        .end(stream: stream, status: .ok, durationMs: 0, details: Array("{}".utf8), text: text),
        .open(
          stream: stream, maxTokens: .max, length: .max, isForm: true, text: Array(repeating: 7, count: text.count)),
        .data(stream: stream, text: Array(repeating: UInt8(status.rawValue), count: text.count + 1)),
        .credit(stream: stream, bytes: .random(in: 0 ... .max, using: &random)),
        .progress(stream: stream, ahead: .max), .cancel(stream: stream),
      ]
    }
    return frames
  }

  @Test("Each reads the frames of the other, whether compressed or not", arguments: [false, true])
  func frames(deflating: Bool) async throws {
    let frames = Self.frames
    let asked = frames.flatMap { frame in
      let written = "write \(Self.line(frame))" + (deflating ? " deflate" : "")
      return ["frame \(MuxFrameTests.hex(frame.encoded(deflating: deflating)))", written]
    }
    let answers = try await MuxProgram.answers(to: asked)
    try #require(answers.count == 2 * frames.count)
    for (number, frame) in frames.enumerated() {
      #expect(answers[2 * number] == Self.line(frame))
      #expect(try MuxFrame.decode(MuxProgram.bytes(answers[2 * number + 1])) == frame)
    }
  }

  @Test("Both refuse and ignore the same frames") func framesThatAreNotValid() async throws {
    var random = SeededGenerator(seed: 22)
    var damaged: [[UInt8]] = []
    for frame in Self.frames {
      if case .fail = frame { continue }
      for _ in 0..<20 {
        var bytes = Array(frame.encoded(deflating: Bool.random(using: &random)).dropLast(4))
        // Also within the first bytes, which have the type and the flags, and with bytes that are missing or added.
        for _ in 0..<Int.random(in: 1...2, using: &random) {
          let place = Int.random(in: 0..<min(bytes.count, Bool.random(using: &random) ? 7 : 20), using: &random)
          bytes[place] =
            Bool.random(using: &random) ? .random(in: 0...7, using: &random) : .random(in: 0...255, using: &random)
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
          bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
        }
        if Int.random(in: 0..<8, using: &random) == 0 { bytes += [1, 2, 3] }
        damaged.append(bytes + withUnsafeBytes(of: MuxFrame.checksum(bytes[...]).littleEndian) { Array($0) })
      }
    }
    let answers = try await MuxProgram.answers(to: damaged.map { "frame \(MuxFrameTests.hex($0))" })
    try #require(answers.count == damaged.count)
    for (bytes, answer) in zip(damaged, answers) {
      var ours: String
      do {
        ours = try MuxFrame.decode(bytes).map(Self.line) ?? "ignored"
      } catch {
        ours = "malformed"
      }
      // The text of FAIL is for people.
      if ours.hasPrefix("FAIL"), answer.hasPrefix("FAIL") { continue }
      #expect(answer == ours, "\(MuxFrameTests.hex(bytes))")
    }
    #expect(Set(answers.map { $0.split(separator: " ")[0] }).isSuperset(of: ["malformed", "ignored", "END", "OPEN"]))
  }

  @Test("Each reads the values and offers of the other") func valuesAndOffers() async throws {
    let values = [MuxValue.Kind.piece, .last, .credit, .close].map {
      MuxValue(mux: 0xfedc, kind: $0, number: 200, bytes: $0 == .piece || $0 == .last ? [0, 255] : [])
    }
    let offers = [MuxOffer(psm: 0x80), MuxOffer(psm: 0xff, hasValues: true), MuxOffer(psm: nil, hasValues: true)]
    let names = ["PIECE", "LAST", "CREDIT", "CLOSE"]
    let told = zip(names, values).map { "\($0) mux=65244 number=200 data=\(MuxFrameTests.hex($1.bytes))" }
    let toldOffers = offers.map { "OFFER psm=\($0.psm ?? 0) gatt=\($0.hasValues ? 1 : 0)" }
    let answers = try await MuxProgram.answers(
      to: values.map { "value \(MuxFrameTests.hex($0.encoded))" }
        + offers.map { "offer \(MuxFrameTests.hex($0.bytes))" }
        + (told + toldOffers).map { "write \($0)" } + ["value 00000400", "value 000000", "offer 03030080"])
    let read = answers.prefix(7)
    let rest = answers.dropFirst(7).map(MuxProgram.bytes)
    #expect(Array(read) == told + toldOffers)
    #expect(rest.prefix(4).map(MuxValue.init) == values)
    #expect(rest.dropFirst(4).prefix(3).map { MuxOffer($0) } == offers)
    #expect(answers.suffix(3) == ["none", "none", "none"])
  }
}

// MARK: Exchanges

extension IndependentMuxTests {
  /// Runs a central of ours at a phone of theirs.
  private func withPhone(
    over bearer: MuxBearer, _ body: @Sendable @escaping (MuxClient) async throws -> Void
  ) async throws {
    let program = try MuxProgram("phone", over: bearer)
    let channel = program.channel(over: bearer)
    let client = MuxClient(channel, deflates: true, replyLimit: 1_000_000, time: .continuous)
    try await running([{ _ = await client.run() }]) {
      try await client.waitUntilReady()
      try await body(client)
    }
  }

  @Test("Their phone answers prompts, and says why it does not", arguments: MuxBearer.allCases)
  func prompts(bearer: MuxBearer) async throws {
    try await withPhone(over: bearer) { client in
      let reply = try await client.exchange(prompt: "Grüße", maxTokens: 9)
      #expect(reply.answer == .text("Grüße"))
      #expect(reply.durationMs == 1500)
      #expect(reply.completion?.reason == .length)
      #expect(reply.completion?.promptTokens == 9)
      let parts = Lock<[ReplyPart]>([])
      _ = try await client.exchange(InferenceRequest(prompt: "think")) { part in parts.withLock { $0.append(part) } }
      #expect(parts.withLock { $0 } == [.thinking(""), .text("think")])
      for status in 1...9 {
        let kind = MuxStatus(rawValue: UInt8(status))?.refusal ?? .failed
        let refused = try await client.exchange(prompt: "status \(status)", maxTokens: nil)
        #expect(refused.answer == .refusal(.init(kind, "the reason of \(status)")))
      }
      // Beyond the windows of both, and not to be compressed.
      let long = String((0..<150_000).map { _ in Character(UnicodeScalar(UInt8.random(in: 33...126))) })
      #expect(try await client.exchange(prompt: long, maxTokens: nil).answer == .text(long))
    }
  }

  @Test("Their phone answers several prompts at a time, and cancels one", arguments: MuxBearer.allCases)
  func severalPrompts(bearer: MuxBearer) async throws {
    try await withPhone(over: bearer) { client in
      let waiting = Lock<[ReplyPart]>([])
      let cancelled = Task {
        try await client.exchange(InferenceRequest(prompt: "wait")) { part in waiting.withLock { $0.append(part) } }
      }
      try await eventually { waiting.withLock { $0 } == [.waiting(ahead: 3)] }
      // The program answers when all eight are there.
      let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 1...8 {
          let prompt = "together" + String(repeating: "\(number) ", count: 5_000 * number)
          group.addTask { try await client.exchange(prompt: prompt, maxTokens: nil).answer == .text(prompt) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers == Array(repeating: true, count: 8))
      cancelled.cancel()
      await #expect(throws: CancellationError.self) { try await cancelled.value }
      try await eventually {
        try await client.exchange(prompt: "cancelled?", maxTokens: nil).answer == .text("1 cancelled")
      }
    }
  }

  @Test("Their phone reads a form with every field, and sends every part", arguments: MuxBearer.allCases)
  func forms(bearer: MuxBearer) async throws {
    try await withPhone(over: bearer) { client in
      let parts = Lock<[ReplyPart]>([])
      let reply = try await client.exchange(RequestFormTests.full) { part in parts.withLock { $0.append(part) } }
      #expect(
        parts.withLock { $0 } == [
          .ignored([.contextLength]), .thinking("hm\n"), .thinking("…"), .text("the form is as specified"),
          .toolCall(Self.call),
        ])
      var completion = Completion(.toolCalls)
      completion.promptTokens = 11
      completion.replyTokens = 22
      completion.cachedTokens = 3
      completion.reasoningTokens = 4
      completion.loadTime = .nanoseconds(5)
      completion.promptTime = .nanoseconds(6)
      completion.replyTime = .nanoseconds(7)
      #expect(reply.completion == completion)
    }
  }

  @Test("Their central is answered by a phone of ours", arguments: MuxBearer.allCases)
  func theirCentral(bearer: MuxBearer) async throws {
    let program = try MuxProgram("central", over: bearer)
    let phone = LoopbackPhone(muxBearers: [.l2cap])
    let engine = AnsweringEngine()
    var configuration = PhoneConfiguration()
    configuration.queue.parallel = 16
    configuration.queue.limitPerCentral = 16
    let service = PhoneService(transport: phone, engine: engine, configuration: configuration)
    let found = try await running([service.run]) {
      let near = try await phone.connect(PeerID("python"), mtu: 517).openMux(over: .l2cap)
      let far = program.channel(over: bearer)
      return try await withThrowingTaskGroup(of: String?.self) { group in
        for (from, to) in [(near, far), (far, near)] {
          group.addTask {
            while let frame = try await from.receive() { try await to.send(frame) }
            return nil
          }
        }
        group.addTask {
          for await line in program.findings { return line }
          return nil
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
      }
    }
    #expect(try JSONValue(parsing: Array(#require(found).utf8)) == JSONValue(parsing: Array(Self.expected.utf8)))
    #expect(engine.seen.withLock { $0.filter { !$0.details.isEmpty } } == [RequestFormTests.full])
  }

  private static let expected = """
    {"replies":[
      {"status":0,"details":{"reason":"stop"},"text":"Grüße"},
      {"status":0,
       "details":{"reason":"tool_calls","promptTokens":11,"promptNs":2000000,"cachedTokens":3},
       "parts":[{"ignored":["num_ctx"]},{"thinking":"hm…"},{"text":"ja\\n"},{"text":"\\u2028"},
                {"toolCall":{"id":"call_1","name":"weather","arguments":"{\\"city\\":\\"Zürich\\"}"}}]},
      {"status":0,"details":{"reason":"stop"},"echoed":true},{"status":0,"details":{"reason":"stop"},"echoed":true},
      {"status":0,"details":{"reason":"stop"},"echoed":true},{"status":0,"details":{"reason":"stop"},"echoed":true},
      {"status":7,"reason":"`audio` is not supported","text":""},
      {"status":7,"reason":"`version` is not 1, the version that is supported","text":""},
      {"status":5,"reason":"the prompt is not UTF-8","text":""},
      {"status":4,"reason":"","text":""},
      {"status":6,"reason":"the context has 9 tokens","text":""}
    ],"interleaved":true}
    """
}
