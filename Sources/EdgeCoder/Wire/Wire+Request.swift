extension Wire {
  /// A prompt that a central sends to a phone.
  ///
  /// ```swift
  /// let request = Wire.Request(id: "1", prompt: "Why is the sky blue?", maxTokens: 64)
  /// for chunk in Chunker.chunks(of: request.encoded(), size: Chunker.requestSize(mtu: 247)) {
  ///   print(chunk.count)
  /// }
  /// ```
  public struct Request: Sendable, Hashable {
    /// The identifier of the request, which the reply repeats; 1 to ``Wire/idLimit`` bytes.
    ///
    /// The EdgeCoder proxy uses upper-case UUID strings.
    public var id: String
    /// The prompt for the model.
    public var prompt: String
    /// The limit on the tokens of the reply; `nil` selects the default of the phone, ``Wire/defaultMaxTokens``.
    public var maxTokens: Int?
    /// The fields that the JSON object has no place for; a v2 mux carries them.
    package var details = RequestDetails()

    /// Creates a request from its fields.
    public init(id: String, prompt: String, maxTokens: Int? = nil) {
      self.id = id
      self.prompt = prompt
      self.maxTokens = maxTokens
    }

    /// Returns the request as one JSON object in UTF-8.
    ///
    /// The identifier comes first, so that it can be recovered from a truncated message.
    public func encoded() -> [UInt8] {
      var writer = JSONObjectWriter(reserving: encodedLength)
      writer.add("id", id)
      if let maxTokens { writer.add("maxTokens", maxTokens) }
      writer.add("prompt", prompt)
      return writer.finish()
    }

    /// The number of bytes of ``encoded()``, computed without encoding the request.
    public var encodedLength: Int {
      let limit = maxTokens.map { ",\"maxTokens\":\($0)".utf8.count } ?? 0
      return "{\"id\":\"\",\"prompt\":\"\"}".utf8.count + limit + JSONObjectWriter.encodedLength(of: id)
        + JSONObjectWriter.encodedLength(of: prompt)
    }

    /// Reads a request from one JSON object.
    ///
    /// Unknown fields are ignored. A `maxTokens` that is not a whole number counts as absent, as in the phone
    /// application.
    /// - Throws: ``Wire/Malformed``, with the identifier if it was readable.
    public static func decode(_ bytes: [UInt8]) throws(Malformed) -> Request {
      let fields = try Fields.decode(bytes)
      guard let id = fields.id else { throw Malformed(reason: "the string field \"id\" is missing") }
      guard !id.isEmpty, id.utf8.count <= Wire.idLimit else {
        throw Malformed(reason: "the id has \(id.utf8.count) bytes; allowed: 1 to \(Wire.idLimit)")
      }
      guard let prompt = fields.prompt else {
        throw Malformed(id: id, reason: "the string field \"prompt\" is missing")
      }
      return Request(id: id, prompt: prompt, maxTokens: fields.maxTokens)
    }
  }
}
