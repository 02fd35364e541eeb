import EdgeCoderTesting
import SystemTesting
import Testing

@testable import EdgeCoder

@Suite("Why a reply ends, from the engine to the central", .timeLimit(.minutes(5))) struct CompletionTests {
  private static let counted: Completion = {
    var completion = Completion(.contentFilter)
    completion.promptTokens = 3
    completion.replyTokens = .max
    completion.loadTime = .nanoseconds(7)
    completion.promptTime = .seconds(2)
    completion.replyTime = .zero
    return completion
  }()

  @Test("Details come back as they were sent, within their limit") func detailsComeBack() throws {
    var longest = Completion(try #require(Completion.Reason(rawValue: String(repeating: "z", count: 32))))
    longest.promptTokens = .max
    longest.replyTokens = .max
    for time in [\Completion.loadTime, \.promptTime, \.replyTime] {
      longest[keyPath: time] = .nanoseconds(Int64.max / 2)
    }
    for completion in [Completion(.stop), Self.counted, longest] {
      #expect(completion.details.count <= Completion.detailsLimit)
      #expect(Completion(details: completion.details) == completion)
    }
  }

  @Test(
    "Details of others are read as far as they are understood",
    arguments: [
      ("{}", Completion(.stop)), (#"{"reason":"LENGTH?","promptTokens":-1,"other":[1]}"#, Completion(.stop)),
      (#"{"reason":"length","loadNs":-5}"#, Completion(.length)),
    ])
  func detailsOfOthers(text: String, completion: Completion) {
    #expect(Completion(details: Array(text.utf8)) == completion)
  }

  @Test("Details that are not an object close the mux", arguments: ["[]", "7", "{", "\u{1}"])
  func detailsThatAreNotAnObject(text: String) throws {
    let terms = MuxTerms(window: 1000, frameLimit: 600, inflates: false, takesDetails: true)
    var machine = MuxClientMachine(terms: terms, bearerLimit: 600)
    _ = try machine.handle(.welcome(terms))
    let opened = machine.open(prompt: "x", maxTokens: nil)
    let stream = try #require(opened)
    let end = MuxFrame.end(stream: stream, status: .ok, durationMs: 0, details: Array(text.utf8), text: [])
    #expect(throws: MalformedFrame.self) { try machine.handle(end) }
  }

  @Test(
    "A word that is none of the usual reasons is a reason, and text is not", arguments: [("eos", true), ("", false)])
  func reasons(word: String, isReason: Bool) {
    #expect((Completion.Reason(rawValue: word) != nil) == isReason)
    for text in ["Stop", "a b", "ü", String(repeating: "a", count: 33)] {
      #expect(Completion.Reason(rawValue: text) == nil)
    }
  }

  /// Returns the END that a phone sends to a central with these terms.
  private func end(for theirs: MuxTerms, text: String = "", _ ending: MuxEnding) throws -> MuxFrame? {
    var machine = MuxServerMachine(
      terms: MuxTerms(window: 65536, frameLimit: 2048, inflates: false, takesDetails: true), bearerLimit: 2048,
      requestLimit: 100)
    _ = try machine.handle(.hello(theirs))
    _ = try machine.handle(.open(stream: 1, maxTokens: 0, length: 1, text: [65]))
    machine.append(1, text)
    machine.finish(1, ending)
    var last: MuxFrame?
    while let bytes = machine.next() {
      #expect(bytes.count <= max(Int(theirs.frameLimit), MuxFrame.smallestLimit))
      last = try MuxFrame.decode(bytes)
    }
    return last
  }

  @Test("A central of before gets an END without details") func aCentralOfBefore() throws {
    let before = MuxTerms(window: 65536, frameLimit: 600, inflates: false)
    let ending = MuxEnding(durationMs: 5, completion: Self.counted)
    #expect(try end(for: before, ending) == .end(stream: 1, status: .ok, durationMs: 5, text: []))
    var now = before
    now.takesDetails = true
    #expect(
      try end(for: now, ending)
        == .end(stream: 1, status: .ok, durationMs: 5, details: Self.counted.details, text: []))
  }

  @Test("Details fit into the smallest frame, with any text", arguments: 200...320) func detailsFit(length: Int) throws
  {
    let terms = MuxTerms(window: 65536, frameLimit: 1, inflates: false, takesDetails: true)
    let ending = MuxEnding(durationMs: 5, completion: Self.counted)
    let last = try end(for: terms, text: String(repeating: "x", count: length), ending)
    guard case .end(_, .ok, _, Self.counted.details, _) = last else {
      Issue.record("no details: \(String(describing: last))")
      return
    }
  }

  /// Asks a phone for a reply that the engine ends with all counts, over a bearer.
  private func reply(
    over bearer: MuxBearer?, limit: Int? = nil, _ act: @Sendable @escaping (GatedEngine.Prompt) -> Void
  ) async throws -> InferenceReply {
    let air = LoopbackCentral()
    let phone = LoopbackPhone(muxBearers: bearer.map { [$0] } ?? [])
    let engine = GatedEngine()
    var configuration = CentralConfiguration()
    configuration.settleTime = .zero
    var phoneConfiguration = PhoneConfiguration()
    limit.map { phoneConfiguration.replyLimit = $0 }
    let central = Central(scanner: air, connector: air, configuration: configuration)
    let service = PhoneService(transport: phone, engine: engine, configuration: phoneConfiguration)
    return try await running([service.run, central.run]) {
      air.see(phone)
      try await eventually { await central.status().phones.first.map { $0.state == "ready" } ?? false }
      #expect(await central.status().phones.first?.linkBearer == bearer)
      async let reply = central.generate(prompt: "x", maxTokens: nil)
      let asked = try await engine.next()
      #expect(asked.maxTokens == (bearer == nil ? Wire.defaultMaxTokens : nil))
      act(asked)
      return try await reply
    }
  }

  @Test("The end of the engine arrives over a mux", arguments: MuxBearer.allCases) func itArrives(bearer: MuxBearer)
    async throws
  {
    let counted = try await reply(over: bearer) { asked in
      asked.say("text")
      asked.end(Self.counted)
    }
    #expect(counted.output == "text")
    #expect(counted.completion == Self.counted)
    let plain = try await reply(over: bearer) { asked in
      asked.say("text")
      asked.end()
    }
    #expect(plain.completion == Completion(.stop))
  }

  @Test("A JSON reply has no place for it") func aJSONReplyHasNoPlaceForIt() async throws {
    let reply = try await reply(over: nil) { asked in
      asked.say("text")
      asked.end(Self.counted)
    }
    #expect(reply.output == "text")
    #expect(reply.completion == nil)
  }

  @Test("A truncated reply ends with the reason length", arguments: [MuxBearer.l2cap, nil])
  func aTruncatedReply(bearer: MuxBearer?) async throws {
    let reply = try await reply(over: bearer, limit: 1000) { asked in
      for _ in 0..<100 { asked.say("0123456789") }
    }
    #expect(reply.completion == Completion(.length))
    #expect(reply.output.hasSuffix(OutputAccumulator.truncationNote) == (bearer == nil))
  }
}
