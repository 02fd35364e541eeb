internal import EdgeCoder
internal import FoundationEssentials

/// A decoder of the events of `/v1/chat/completions` and `/v1/completions`, and of plain JSON from servers that do not
/// stream.
struct OpenAIReplyDecoder: ReplyDecoder {
  private let json = JSONDecoder()
  private var events = EventStreamParser()
  private var plain: String?
  /// The reason why the text ends; `nil` before the server has named it.
  private var reason: String?
  private var completion = Completion(.stop)
  private var calls = ToolCallAssembler()

  mutating func decode(line: String) throws -> ReplyStep {
    // A server that ignores `stream` answers with one JSON object; an event stream never starts a line with a brace.
    if plain != nil || line.hasPrefix("{") {
      plain = (plain ?? "") + line
      return .text("")
    }
    // llama.cpp reported failures in mid-stream in a field of its own before it used `data`.
    if line.hasPrefix("error:") { return try take(event: String(line.dropFirst("error:".count)), isFailure: true) }
    guard let event = events.append(line: line) else { return .ignored }
    return try take(event: event)
  }

  mutating func end() throws -> ReplyStep {
    if let plain {
      let chunk = try chunk(from: plain)
      guard let choice = chunk.choices?.first else { throw notTheProtocol() }
      for (index, part) in (choice.message?.tool_calls ?? []).enumerated() { try calls.add(part, at: index) }
      return try finished(choice.message?.content ?? choice.text ?? "", after: choice.message?.thinking ?? "")
    }
    if let event = events.finish() {
      let step = try take(event: event)
      if case .finished = step { return step }
      if reason != nil, case .text(let text) = step { return try finished(text) }
      if reason != nil, case .thinking(let thinking, let text) = step { return try finished(text, after: thinking) }
    }
    // [DONE] is optional once the finish reason has arrived.
    guard reason != nil else { throw EngineError.endedEarly }
    return try finished("")
  }

  private mutating func take(event: String, isFailure: Bool = false) throws -> ReplyStep {
    if event == "[DONE]" { return try finished("") }
    if isFailure {
      let failure: OpenAIWire.Failure
      do { failure = try json.decode(OpenAIWire.Failure.self, from: Data(event.utf8)) } catch { throw notTheProtocol() }
      throw EngineError(
        EngineError.code(ofRefusal: failure.message), "the model server: \(failure.message.excerpt)")
    }
    let chunk = try chunk(from: event)
    // The usage chunk has no choices, the first delta no content.
    guard let choice = chunk.choices?.first else { return .text("") }
    for part in choice.delta?.tool_calls ?? [] { try calls.add(part, at: nil) }
    let text = choice.delta?.content ?? choice.text ?? ""
    guard let thinking = choice.delta?.thinking, !thinking.isEmpty else { return .text(text) }
    return .thinking(thinking, then: text)
  }

  /// Returns the end of the reply.
  /// - Throws: ``EngineError`` if the reason is that the server has failed.
  private mutating func finished(_ text: String, after thinking: String = "") throws -> ReplyStep {
    guard reason != "error" else {
      throw EngineError(
        .interrupted, "the model server ended its reply with an error", hint: "look at the log of the engine")
    }
    var completion = completion
    if let reason { completion.reason = Completion.Reason(server: reason) }
    let calls = try calls.finish()
    if !calls.isEmpty, completion.reason == .stop { completion.reason = .toolCalls }
    return .finished(text, completion, calls, after: thinking)
  }

  private mutating func chunk(from text: String) throws -> OpenAIWire.Chunk {
    let chunk: OpenAIWire.Chunk
    do {
      chunk = try json.decode(OpenAIWire.Chunk.self, from: Data(text.utf8))
    } catch {
      throw notTheProtocol()
    }
    if let error = chunk.error {
      throw EngineError(EngineError.code(ofRefusal: error.message), "the model server: \(error.message.excerpt)")
    }
    if let reason = chunk.choices?.first?.finish_reason { self.reason = reason }
    if let usage = chunk.usage {
      completion.promptTokens = usage.prompt_tokens
      completion.replyTokens = usage.completion_tokens
      completion.cachedTokens = usage.prompt_tokens_details?.cached_tokens ?? completion.cachedTokens
      completion.reasoningTokens = usage.completion_tokens_details?.reasoning_tokens
    }
    if let timings = chunk.timings {
      completion.promptTime = timings.prompt_ms.flatMap(Self.time)
      completion.cachedTokens = completion.cachedTokens ?? timings.cache_n
      completion.replyTime = timings.predicted_ms.flatMap(Self.time)
    }
    return chunk
  }

  private static func time(_ milliseconds: Double) -> Duration? {
    (0...1e12).contains(milliseconds) ? .nanoseconds(Int64(milliseconds * 1e6)) : nil
  }

  private func notTheProtocol() -> EngineError {
    EngineError(.badReply, "the model server sent a reply that is not the OpenAI protocol", hint: "check the port")
  }
}
