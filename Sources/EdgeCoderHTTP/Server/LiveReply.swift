internal import EdgeCoder
internal import FoundationEssentials

/// A reply in progress: its text and its calls of tools arrive in pieces from a phone with a v2 mux, and at once from another.
struct LiveReply: Sendable {
  private let generation: Generation
  private let started = ContinuousClock.now
  /// The identifier of a reply that a stop sequence has ended.
  private let ownID = UUID().uuidString
  private var filter: StopFilter
  /// The number of bytes received from the phone, before the filter.
  private var received = 0
  private var isFinished = false
  /// The text returned so far.
  private(set) var text = ""
  /// The thinking returned so far.
  private(set) var thinking = ""
  /// The calls of tools returned so far.
  private(set) var toolCalls: [ToolCall] = []
  /// The fields of the client that have no effect on the reply; complete before the first part.
  private(set) var ignored: [String]
  /// The complete reply; `nil` before its end, and after a stop sequence.
  private(set) var reply: InferenceReply?

  /// A Boolean value that indicates whether the place in the queue, and what the engine ignores, are parts.
  private let withProgress: Bool

  init(_ prompt: Prompt, _ generation: Generation, withProgress: Bool = false) {
    self.generation = generation
    self.withProgress = withProgress
    filter = StopFilter(prompt.request.details.options.stop)
    ignored = prompt.ignored
  }

  /// Returns the next piece of the text or of the thinking, which is not empty, or the next call of a tool, or what is
  /// known before; `nil` at the end.
  /// - Throws: ``APIError``, also when the phone fails; `CancellationError` when the server stops.
  mutating func next() async throws -> ReplyPart? {
    while !isFinished {
      let piece: String
      switch await generation.next() {
      case .ignored(let fields):
        // This server ends the text at a stop sequence wherever it comes from.
        let fields = fields.filter { $0 != .stop }
        if withProgress, !fields.isEmpty { return .ignored(fields) }
        ignored += fields.map(\.rawValue)
        continue
      case .waiting(let ahead):
        guard withProgress else { continue }
        return .waiting(ahead: ahead)
      case .thinking(let text):
        guard !text.isEmpty else { continue }
        thinking += text
        return .thinking(text)
      case .toolCall(let call):
        toolCalls.append(call)
        return .toolCall(call)
      case .text(let text): piece = try await step(text)
      case nil: piece = try await step(nil)
      }
      text += piece
      if !piece.isEmpty { return .text(piece) }
    }
    return nil
  }

  private mutating func step(_ piece: String?) async throws -> String {
    if let piece {
      received += piece.utf8.count
      let passed = filter.filter(piece)
      if filter.isStopped {
        isFinished = true
        generation.cancel()
      }
      return passed
    }
    isFinished = true
    let whole = try await generation.result()
    switch whole.answer {
    case .refusal(let refusal): throw APIError.phoneFailed(whole, refusal)
    case .text(let text):
      reply = whole
      return finish(text)
    }
  }

  /// Returns the rest of the text of a complete reply.
  private mutating func finish(_ text: String) -> String {
    let rest = String(decoding: text.utf8.dropFirst(received), as: UTF8.self)
    return filter.filter(rest) + filter.finish()
  }

  /// The identifier of the reply, after its end.
  var id: String { reply?.id ?? ownID }

  /// The end of the text for OpenAI clients, which go on by it: a reply with calls of tools ends for them.
  var finishReason: String { (toolCalls.isEmpty ? completion.reason : .toolCalls).rawValue }

  /// The end of the text: that of the engine, unless a stop sequence was found before.
  ///
  /// A phone without the v2 mux does not say why a text ends; that counts as `stop`.
  var completion: Completion { filter.isStopped ? Completion(.stop) : reply?.completion ?? Completion(.stop) }

  /// The fields at the end of a reply to an Ollama client.
  var final: FinalFields {
    var completion = completion
    // Ollama has no word for calls of tools.
    if completion.reason == .toolCalls { completion.reason = .stop }
    return FinalFields(completion, wall: started.duration(to: .now))
  }

  /// The fields at the end of a reply to a form.
  var finalOfForm: FinalFields { FinalFields(completion, wall: started.duration(to: .now)) }
}
