internal import EdgeCoder

/// A reply on its way to a client: its text as it comes from a phone with a v2 link, all at once from another.
struct LiveReply: Sendable {
  private let generation: Generation
  private let begun = ContinuousClock.now
  private let prompt: Prompt
  private var filter: StopFilter
  /// Bytes of the phone's text, before the filter.
  private var received = 0
  private var isOver = false
  /// The text handed out so far.
  private(set) var text = ""
  /// What the phone said in the end; `nil` before, and when a stop sequence made the rest needless.
  private(set) var reply: InferenceReply?

  init(_ prompt: Prompt, _ generation: Generation) {
    self.prompt = prompt
    self.generation = generation
    filter = StopFilter(prompt.stops)
  }

  /// The next piece of the text, which is not empty; `nil` at its end.
  /// - Throws: ``APIError``, also when the phone says that it failed; `CancellationError` when the server stops.
  mutating func next() async throws -> String? {
    while !isOver {
      let piece = try await step()
      text += piece
      if !piece.isEmpty { return piece }
    }
    return nil
  }

  private mutating func step() async throws -> String {
    if let piece = await generation.next() {
      received += piece.utf8.count
      let passed = filter.take(piece)
      if filter.isStopped {
        isOver = true
        generation.cancel()
      }
      return passed
    }
    isOver = true
    let whole = try await generation.result()
    guard whole.ok else { throw APIError.phoneFailed(whole) }
    reply = whole
    let rest = String(decoding: whole.output.utf8.dropFirst(received), as: UTF8.self)
    return filter.take(rest) + filter.rest()
  }

  /// The numbers at the end of an Ollama client's answer.
  var final: FinalFields {
    FinalFields(prompt: prompt.text, text: text, wall: begun.duration(to: .now), reply: reply)
  }
}
