extension Wire {
  /// A prompt on its way from a central to a phone.
  public struct Request: Sendable, Hashable {
    /// Names the request; its reply carries the same id. The proxy uses upper-case UUID strings.
    public var id: String
    /// The prompt.
    public var prompt: String
    /// The most tokens to produce; `nil` leaves the phone's default (``Wire/defaultMaxTokens``).
    public var maxTokens: Int?

    /// Makes a request.
    public init(id: String, prompt: String, maxTokens: Int? = nil) {
      self.id = id
      self.prompt = prompt
      self.maxTokens = maxTokens
    }

    /// The request as one JSON object, the id first so that it can be recovered from a message cut short.
    public func encoded() -> [UInt8] {
      var writer = JSONObjectWriter(reserving: prompt.utf8.count + id.utf8.count + 64)
      writer.add("id", id)
      if let maxTokens { writer.add("maxTokens", maxTokens) }
      writer.add("prompt", prompt)
      return writer.finish()
    }

    /// Reads a request from one JSON object.
    ///
    /// Unknown fields are ignored, and a `maxTokens` that is not a whole number reads as absent, as in the phone
    /// application.
    /// - Throws: ``Wire/Malformed``, with the id when it could be read.
    public static func decode(_ bytes: [UInt8]) throws(Malformed) -> Request {
      let fields = try Fields.decode(bytes)
      guard let id = fields.id else { throw Malformed(reason: "no string field \"id\"") }
      guard !id.isEmpty, id.utf8.count <= Wire.idLimit else {
        throw Malformed(reason: "the id is empty or longer than \(Wire.idLimit) bytes")
      }
      guard let prompt = fields.prompt else { throw Malformed(id: id, reason: "no string field \"prompt\"") }
      return Request(id: id, prompt: prompt, maxTokens: fields.maxTokens)
    }
  }
}
