extension Wire {
  /// The reply of a phone to one request.
  ///
  /// ```swift
  /// let reply = Wire.Response(id: "1", answer: .text("Hello!"), durationMs: 120)
  /// let read = try Wire.Response.decode(reply.encoded())
  /// print(read.answer == reply.answer)  // true
  /// ```
  public struct Response: Sendable, Hashable {
    /// The identifier of the request that the phone answers.
    public var id: String
    /// The text of the model, or the reason for the refusal.
    public var answer: Answer
    /// The time that the phone needed, in milliseconds.
    public var durationMs: Int

    /// Creates a reply from its fields.
    public init(id: String, answer: Answer, durationMs: Int) {
      self.id = id
      self.answer = answer
      self.durationMs = durationMs
    }

    /// Returns the reply as one JSON object in UTF-8.
    public func encoded() -> [UInt8] {
      let output = answer.output
      var writer = JSONObjectWriter(reserving: output.utf8.count + id.utf8.count + 96)
      writer.add("id", id)
      writer.add("ok", answer.ok)
      writer.add("durationMs", durationMs)
      writer.add("output", output)
      return writer.finish()
    }

    /// Reads a reply from one JSON object.
    ///
    /// Only the identifier is required, as in the EdgeCoder proxy: a missing `output` counts as empty, a missing `ok` as
    /// `false`, and a missing or negative `durationMs` as 0. An `output` that is present but unreadable was damaged in
    /// transit.
    /// - Throws: ``Wire/Malformed``, with the identifier if it was readable.
    public static func decode(_ bytes: [UInt8]) throws(Malformed) -> Response {
      let fields = try Fields.decode(bytes)
      guard let id = fields.id else { throw Malformed(reason: "the string field \"id\" is missing") }
      guard !fields.hasUnreadableOutput else { throw Malformed(id: id, reason: "the field \"output\" is unreadable") }
      return Response(
        id: id, answer: Answer(output: fields.output ?? "", ok: fields.ok ?? false),
        durationMs: max(0, fields.durationMs ?? 0))
    }
  }
}
