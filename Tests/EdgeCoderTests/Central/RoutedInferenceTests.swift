import EdgeCoder
import EdgeCoderTesting
import Streams
import Testing

@Suite("Prompts with a model server and phones", .timeLimit(.minutes(5))) struct RoutedInferenceTests {
  private let phones = Phones()
  private let engine = GatedEngine()
  private let network = Network()

  private func service(_ preference: RoutedInference.Preference) -> RoutedInference {
    RoutedInference(phones: phones, engine: engine, preference: preference, network: network)
  }

  @Test("A default route leads to the model server") func aWayOutLeadsToTheModelServer() async throws {
    for preference in [RoutedInference.Preference.network, .auto] {
      let service = service(preference)
      #expect(await service.status().route == .network)
      async let reply = service.generate(prompt: "hi", maxTokens: 7)
      let asked = try await engine.next()
      #expect((asked.text, asked.maxTokens) == ("hi", 7))
      asked.say("Good ")
      asked.say("day")
      asked.end(Completion(.length))
      #expect(try await (reply.output, reply.ok, reply.phone) == ("Good day", true, "gated"))
      #expect(try await reply.completion == Completion(.length))
    }
    #expect(phones.prompts == [])
  }

  @Test("Without a default route all prompts go to the phones", arguments: RoutedInference.Preference.allCases)
  func withoutAWayOutAllGoesToThePhones(preference: RoutedInference.Preference) async throws {
    network.lose()
    let service = service(preference)
    let status = await service.status()
    #expect(status.route == .bluetooth)
    #expect(status.routeReason?.isEmpty == false)
    #expect(try await service.generate(prompt: "hi", maxTokens: nil).phone == "Pixel")
    #expect(phones.prompts == ["hi"])
  }

  @Test("The preference bluetooth sends nothing over the network") func whoPrefersBluetoothSendsNothingOverTheNetwork()
    async throws
  {
    phones.areReady = false
    await #expect(throws: InferenceError.self) {
      try await service(.bluetooth).generate(prompt: "hi", maxTokens: nil)
    }
    #expect(await service(.bluetooth).status().route == .bluetooth)
  }

  /// The default preference of a network that goes away: nobody has to ask again.
  @Test(
    "A prompt in progress goes to a phone when the network is lost",
    arguments: [RoutedInference.Preference.network, .auto])
  func aPromptUnderWayGoesToAPhoneWhenTheNetworkGoes(preference: RoutedInference.Preference) async throws {
    async let reply = service(preference).generate(prompt: "hi", maxTokens: nil)
    _ = try await engine.next()
    network.lose()
    #expect(try await reply.phone == "Pixel")
    #expect(engine.cancelled == 1)
  }

  @Test("A reply with delivered text is not repeated elsewhere") func whatHasBegunIsNotBegunAgainElsewhere()
    async throws
  {
    let spoken = Lock("")
    let service = service(.auto)
    let reply = Task {
      try await service.generate(prompt: "hi", maxTokens: nil) { piece in
        spoken.withLock { $0 += piece }
        network.lose()
      }
    }
    try await engine.next().say("Good ")
    let error = await #expect(throws: InferenceError.self) { try await reply.value }
    #expect(error?.code == .networkLost)
    #expect(spoken.withLock { $0 } == "Good ")
    #expect(phones.prompts == [])
  }

  @Test("A phone replaces a failed model server only with the preference auto")
  func aModelServerThatFailsIsReplacedOnlyWhereThatIsWanted() async throws {
    for (preference, isReady) in [(RoutedInference.Preference.auto, true), (.auto, false), (.network, true)] {
      phones.areReady = isReady
      let service = service(preference)
      let reply = Task { try await service.generate(prompt: "hi", maxTokens: nil) }
      try await engine.next().fail(EngineError(.unreachable, "nobody listens"))
      if preference == .auto, isReady {
        #expect(try await reply.value.phone == "Pixel")
      } else {
        let error = await #expect(throws: InferenceError.self) { try await reply.value }
        #expect(error?.code == .modelFailed)
      }
    }
  }

  @Test("The prompts of the model server are counted by their ends") func thePromptsAreCounted() async throws {
    let service = service(.auto)
    async let reply = service.generate(prompt: "hi", maxTokens: nil)
    try await engine.next().end(Completion(.stop))
    _ = try await reply
    async let other = service.generate(prompt: "hi", maxTokens: nil)
    try await engine.next().fail(EngineError(.unreachable, "nobody listens"))
    #expect(try await other.phone == "Pixel")
    let asking = Task { try await service.generate(prompt: "hi", maxTokens: nil) }
    _ = try await engine.next()
    asking.cancel()
    _ = await asking.result
    network.lose()
    _ = try await service.generate(prompt: "hi", maxTokens: nil)
    var counted = ModelServerCounters()
    counted.requests = 3
    counted.replies = 1
    counted.failures = 1
    counted.cancelled = 1
    #expect(service.counters() == counted)
  }

  @Test("Cancelling cancels the request to the model server") func cancellingGivesTheModelServerUp() async throws {
    let service = service(.auto)
    let asking = Task { try await service.generate(prompt: "hi", maxTokens: nil) }
    _ = try await engine.next()
    asking.cancel()
    await #expect(throws: CancellationError.self) { try await asking.value }
    #expect(engine.cancelled == 1)
    #expect(phones.prompts == [])
  }
}

/// Phones that answer at once.
private final class Phones: InferenceService {
  private let state = Lock((ready: true, prompts: [String]()))

  var areReady: Bool {
    get { state.withLock { $0.ready } }
    set { state.withLock { $0.ready = newValue } }
  }
  var prompts: [String] { state.withLock { $0.prompts } }

  func generate(
    _ request: InferenceRequest, onPart: @Sendable @escaping (ReplyPart) async -> Void
  ) async throws -> InferenceReply {
    guard areReady else { throw InferenceError(.noPhoneReady, "no phone is in sight") }
    state.withLock { $0.prompts.append(request.prompt) }
    return InferenceReply(id: "1", output: "by radio", ok: true, durationMs: 1, phone: "Pixel")
  }

  func status() async -> CentralStatus { CentralStatus(connected: areReady, scanning: false) }
}

/// A network that goes away when the test says so.
private final class Network: NetworkAvailability {
  private let state = Lock((isThere: true, waiting: [BoundedStream<Void>.Source]()))

  var isAvailable: Bool { state.withLock { $0.isThere } }

  func lose() {
    for source in state.withLock({ state in
      state.isThere = false
      return state.waiting
    }) { source.finish() }
  }

  func waitUntilLost() async {
    let (stream, source) = BoundedStream.make(of: Void.self, limit: 1)
    let isThere = state.withLock { state in
      state.waiting.append(source)
      return state.isThere
    }
    if !isThere { source.finish() }
    for await _ in stream {}
  }
}
