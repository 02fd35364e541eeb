import DeterministicTesting
import Testing
import Timing

@testable import EdgeCoder

@Suite("The echo engine", .timeLimit(.minutes(5))) struct EchoEngineTests {
  private func pieces(_ engine: EchoEngine, _ prompt: String, maxTokens: Int = 512) async throws -> [String] {
    var pieces: [String] = []
    for try await output in engine.generate(InferenceRequest(prompt: prompt, maxTokens: maxTokens)) {
      if let text = output.text { pieces.append(text) }
    }
    return pieces
  }

  @Test("The end says whether the limit was reached", arguments: [(2, "length"), (3, "stop"), (nil, "stop")])
  func theEndSaysWhy(maxTokens: Int?, reason: String) async throws {
    var last: EngineOutput?
    let request = InferenceRequest(prompt: "hello, how are you today?", maxTokens: maxTokens)
    for try await output in EchoEngine().generate(request) { last = output }
    var expected = Completion(try #require(Completion.Reason(rawValue: reason)))
    expected.replyTokens = min(3, maxTokens ?? 3)
    #expect(last == .end(expected))
  }

  @Test("The output has the prefix and the prompt in pieces") func saysWhatItIsAndRepeatsThePromptInPieces()
    async throws
  {
    let pieces = try await pieces(EchoEngine(), "hello, how are you today?")
    #expect(pieces == ["[echo engine] he", "llo, how are you", " today?"])
  }

  @Test("The output stops at the token limit") func stopsAtTheTokens() async throws {
    #expect(try await pieces(EchoEngine(), "hello, how are you today?", maxTokens: 2).count == 2)
    #expect(try await pieces(EchoEngine(), "", maxTokens: 0) == ["[echo engine] "])
  }

  @Test("The output is repeated to a length", arguments: [0, 14, 15, 512, 513, 200 * 1024], [1, 7, 512])
  func repeatsToALength(bytes: Int, tokens: Int) async throws {
    var options = EchoEngine.Options()
    options.repeatToBytes = bytes
    let pieces = try await pieces(EchoEngine(options: options), "héllo 😀", maxTokens: tokens)
    let length = pieces.joined().utf8.count
    #expect(pieces.count <= tokens)
    #expect(length <= max(bytes, 14))
    #expect(length > bytes - 4)
  }

  @Test("Pieces are delayed, and cancelling stops them") func takesItsTimeAndStopsWhenCancelled() async throws {
    let clock = ManualClock()
    var options = EchoEngine.Options()
    options.delay = .milliseconds(100)
    let engine = EchoEngine(options: options, time: TimeSource(clock))
    let task = Task { try await pieces(engine, String(repeating: "x", count: 100)) }
    await clock.advance(toSleeperAt: .milliseconds(100))
    await clock.waitForSleeper(until: .milliseconds(200))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
