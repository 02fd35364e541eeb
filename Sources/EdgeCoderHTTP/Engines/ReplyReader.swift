internal import EdgeCoder

/// A reader of one reply: splits bytes into lines, decodes them to text, and enforces the size limits.
struct ReplyReader: Sendable {
  /// The result of reading some bytes.
  struct Progress: Sendable, Hashable {
    /// Text and calls of tools.
    var outputs: [EngineOutput] = []
    var progressed = false
    /// The end of the reply; `nil` before it.
    var completion: Completion?
  }

  private let limits: EngineLimits
  private var decoder: any ReplyDecoder
  private var lines: LineSplitter
  private var wireBytes = 0
  private var replyBytes = 0

  init(limits: EngineLimits, decoder: any ReplyDecoder) {
    self.limits = limits
    self.decoder = decoder
    lines = LineSplitter(limit: limits.lineBytes)
  }

  /// Reads bytes; those after the end of the reply are ignored.
  mutating func append(_ bytes: some Collection<UInt8>) throws -> Progress {
    wireBytes += bytes.count
    guard wireBytes <= limits.wireBytes else {
      throw EngineError(.badReply, "the engine sent more than \(limits.wireBytes) bytes for one reply")
    }
    var progress = Progress()
    for line in try lines.append(bytes) {
      try take(decoder.decode(line: line), into: &progress)
      if progress.completion != nil { break }
    }
    return progress
  }

  /// Returns the text that the end of the stream completes, and the end of the reply.
  /// - Throws: ``EngineError`` `.interrupted` when the reply is not complete.
  mutating func end() throws -> Progress {
    var progress = Progress()
    if let line = lines.finish() { try take(decoder.decode(line: line), into: &progress) }
    if progress.completion == nil { try take(decoder.end(), into: &progress) }
    return progress
  }

  private mutating func take(_ step: ReplyStep, into progress: inout Progress) throws {
    switch step {
    case .ignored: return
    case .text(let text): try add(text, to: &progress)
    case .thinking(let thinking, let text):
      try add(thinking: thinking, to: &progress)
      try add(text, to: &progress)
    case .toolCalls(let calls, let text):
      try add(text, to: &progress)
      try add(calls, to: &progress)
    case .finished(let text, let completion, let calls, let thinking):
      try add(thinking: thinking, to: &progress)
      try add(text, to: &progress)
      try add(calls, to: &progress)
      progress.completion = completion
    }
    progress.progressed = true
  }

  private mutating func add(_ text: String, to progress: inout Progress) throws {
    guard !text.isEmpty else { return }
    try count(text.utf8.count)
    progress.outputs.append(.text(text))
  }

  private mutating func add(thinking: String, to progress: inout Progress) throws {
    guard !thinking.isEmpty else { return }
    try count(thinking.utf8.count)
    progress.outputs.append(.thinking(thinking))
  }

  private mutating func add(_ calls: [ToolCall], to progress: inout Progress) throws {
    for call in calls {
      try count(call.name.utf8.count + call.arguments.utf8.count)
      progress.outputs.append(.toolCall(call))
    }
  }

  private mutating func count(_ bytes: Int) throws {
    replyBytes += bytes
    guard replyBytes <= limits.replyBytes else {
      throw EngineError(
        .badReply, "the reply exceeds \(limits.replyBytes) bytes", hint: "ask for fewer tokens")
    }
  }
}
