internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// How an answer is told piece by piece to one family of clients.
struct StreamFormat: Sendable {
  typealias Value = any Encodable & Sendable

  enum Framing: Sendable {
    /// One JSON object a line, as Ollama streams.
    case lines
    /// Server-sent events ending with `[DONE]`, as OpenAI streams.
    case events
  }

  var family: APIFamily
  var framing: Framing
  /// What comes before the text.
  var opening: [Value] = []
  /// A piece of the text.
  var piece: @Sendable (String) -> Value
  /// What comes after the text.
  var closing: @Sendable (LiveReply) -> [Value]

  /// The answer, from its first piece on. An error after that is told in the stream, which then ends without its usual
  /// end.
  func response(_ reply: LiveReply, first: String?) -> Response {
    Response(
      status: .ok, headers: headers,
      body: ResponseBody { writer in
        var (reply, text) = (reply, first)
        do {
          try await write(opening, to: &writer)
          while let piece = text {
            try await write(ReplyText.pieces(piece).map(self.piece), to: &writer)
            text = try await reply.next()
          }
          try await write(closing(reply), to: &writer)
          if framing == .events { try await writer.write(ByteBuffer(string: "data: [DONE]\n\n")) }
        } catch {
          try await write([family.body(APIError(any: error))], to: &writer)
        }
        try await writer.finish(nil)
      })
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
