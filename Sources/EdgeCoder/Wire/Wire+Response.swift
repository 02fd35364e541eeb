extension Wire {
  /// A phone's answer to one request.
  public struct Response: Sendable, Hashable {
    /// The request's id.
    public var id: String
    /// The text, or the reason when `ok` is false: the wire has no error field.
    public var output: String
    /// Whether `output` is what the model said.
    public var ok: Bool
    /// Milliseconds the phone took.
    public var durationMs: Int

    /// Makes a reply.
    public init(id: String, output: String, ok: Bool, durationMs: Int) {
      self.id = id
      self.output = output
      self.ok = ok
      self.durationMs = durationMs
    }

    /// The reply as one JSON object.
    public func encoded() -> [UInt8] {
      var writer = JSONObjectWriter(reserving: output.utf8.count + id.utf8.count + 96)
      writer.add("id", id)
      writer.add("ok", ok)
      writer.add("durationMs", durationMs)
      writer.add("output", output)
      return writer.finish()
    }

    /// Reads a reply from one JSON object.
    ///
    /// Only the id is required, as in the proxy: a missing `output` reads as empty, a missing `ok` as false, a missing
    /// or negative `durationMs` as 0. An `output` that is there but cannot be read is not missing: such a reply was
    /// damaged on its way.
    /// - Throws: ``Wire/Malformed``, with the id when it could be read.
    public static func decode(_ bytes: [UInt8]) throws(Malformed) -> Response {
      let fields = try Fields.decode(bytes)
      guard let id = fields.id else { throw Malformed(reason: "no string field \"id\"") }
      guard !fields.hasUnreadableOutput else { throw Malformed(id: id, reason: "the field \"output\" cannot be read") }
      return Response(
        id: id, output: fields.output ?? "", ok: fields.ok ?? false, durationMs: max(0, fields.durationMs ?? 0))
    }
  }
}
