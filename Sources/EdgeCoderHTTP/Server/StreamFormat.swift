internal import EdgeCoder
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The format of a streamed reply for one family of clients.
struct StreamFormat: Sendable {
  typealias Value = any Encodable & Sendable

  enum Framing: Sendable {
    /// One JSON object per line, as in Ollama.
    case lines
    /// Server-sent events that end with `[DONE]`, as in OpenAI.
    case events
  }

  var family: APIFamily
  var framing: Framing
  /// The values before the text.
  var opening: [Value] = []
  /// Returns the value for a piece of the text.
  var piece: @Sendable (String) -> Value
  /// Returns the value for a piece of the thinking; `nil` for a form that has no place for it.
  var thinking: @Sendable (String) -> Value? = { _ in nil }
  /// Returns the value for a part before the text; `nil` for a form that has no place for them.
  var progress: (@Sendable (ReplyPart) -> Value?)?
  /// Returns the value for a call of a tool, whose position in the reply is given.
  ///
  /// - Throws: ``APIError`` where a client cannot take it.
  var toolCall: @Sendable (ToolCall, Int) throws -> Value = { _, _ in throw APIError.unexpectedCall }
  /// Returns the values after the text.
  var closing: @Sendable (LiveReply) -> [Value]

  /// Returns the response, which starts with the first piece. A later error is written to the stream, in place of its
  /// normal end.
  func response(_ reply: LiveReply, first: ReplyPart?) -> Response {
    let response = Response(
      status: .ok, headers: headers,
      body: ResponseBody { writer in
        var reply = reply
        var next = first
        do {
          try await write(opening, to: &writer)
          while let part = next {
            switch part {
            case .text(let text): try await write(ReplyText.pieces(text).map(piece), to: &writer)
            case .toolCall(let call): try await write([toolCall(call, reply.toolCalls.count - 1)], to: &writer)
            case .thinking(let text):
              try await write(ReplyText.pieces(text).compactMap(thinking), to: &writer)
            case .ignored, .waiting: try await write([progress?(part)].compactMap { $0 }, to: &writer)
            }
            next = try await reply.next()
          }
          try await write(closing(reply), to: &writer)
          if framing == .events { try await writer.write(ByteBuffer(string: "data: [DONE]\n\n")) }
        } catch {
          try await write([family.body(APIError(any: error))], to: &writer)
        }
        try await writer.finish(nil)
      })
    return response.naming(ignored: reply.ignored)
  }

  private var headers: HTTPFields {
    switch framing {
    case .lines: [.contentType: "application/x-ndjson"]
    case .events: [.contentType: "text/event-stream", .cacheControl: "no-cache"]
    }
  }

  private func write(_ values: [Value], to writer: inout any ResponseBodyWriter) async throws {
    for value in values {
      let text = try Response.text(value)
      try await writer.write(ByteBuffer(string: framing == .lines ? text + "\n" : "data: \(text)\n\n"))
    }
  }
}
