internal import EdgeCoder
internal import FoundationEssentials

/// A decoder of the events of `/v1/chat/completions` and `/v1/completions`, and of plain JSON from servers that do not
/// stream.
struct OpenAIReplyDecoder: ReplyDecoder {
  let address: String
  private let json = JSONDecoder()
  private var events = EventStreamParser()
  private var plain: String?
  private var sawFinish = false

  init(address: String) {
    self.address = address
  }

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
      return .finished(choice.message?.content ?? choice.text ?? "")
    }
    if let event = events.finish() {
      let step = try take(event: event)
      if case .finished = step { return step }
      if sawFinish, case .text(let text) = step { return .finished(text) }
    }
    // [DONE] is optional once the finish reason has arrived.
    guard sawFinish else { throw EngineError.endedEarly(address) }
    return .finished("")
  }

  private mutating func take(event: String, isFailure: Bool = false) throws -> ReplyStep {
    if event == "[DONE]" { return .finished("") }
    if isFailure {
      let failure: OpenAIWire.Failure
      do { failure = try json.decode(OpenAIWire.Failure.self, from: Data(event.utf8)) } catch { throw notTheProtocol() }
      throw EngineError(.refused, "\(address): \(failure.message.excerpt)")
    }
    let chunk = try chunk(from: event)
    // The usage chunk has no choices, the first delta no content.
    guard let choice = chunk.choices?.first else { return .text("") }
    if choice.finish_reason != nil { sawFinish = true }
    return .text(choice.delta?.content ?? choice.text ?? "")
  }

  private func chunk(from text: String) throws -> OpenAIWire.Chunk {
    let chunk: OpenAIWire.Chunk
    do {
      chunk = try json.decode(OpenAIWire.Chunk.self, from: Data(text.utf8))
    } catch {
      throw notTheProtocol()
    }
    if let error = chunk.error { throw EngineError(.refused, "\(address): \(error.message.excerpt)") }
    return chunk
  }

  private func notTheProtocol() -> EngineError {
    EngineError(.badReply, "\(address) sent a reply that is not the OpenAI protocol", hint: "check the port")
  }
}
