public import EdgeCoder

// The fields of the JSON messages, so that tests compare replies as they are sent.
extension Wire.Response {
  /// Creates a reply from the fields of its JSON message.
  public init(id: String, output: String, ok: Bool, durationMs: Int) {
    self.init(id: id, answer: Answer(output: output, ok: ok), durationMs: durationMs)
  }

  /// The field `output` of the JSON message.
  public var output: String { answer.output }

  /// The field `ok` of the JSON message.
  public var ok: Bool { answer.ok }
}

extension InferenceReply {
  /// Creates a reply from the fields of its JSON message.
  public init(id: String, output: String, ok: Bool, durationMs: Int, phone: String) {
    self.init(id: id, answer: Answer(output: output, ok: ok), durationMs: durationMs, phone: phone)
  }

  /// The text, or the reason in brackets.
  public var output: String { answer.output }

  /// A Boolean value that indicates whether the answer is a text.
  public var ok: Bool { answer.ok }
}
