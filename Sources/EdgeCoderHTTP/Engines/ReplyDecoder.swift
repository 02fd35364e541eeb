internal import EdgeCoder

/// Turns the lines of one engine's reply into text: a value, fed line by line, with no I/O of its own.
protocol ReplyDecoder: Sendable {
  /// Takes one line in.
  /// - Throws: ``EngineError`` when the engine reports a failure or breaks its protocol.
  mutating func decode(line: String) throws -> ReplyStep

  /// Says what the end of the stream means: `.finished`, or an error when the reply is not complete.
  mutating func end() throws -> ReplyStep
}

/// What one line of a reply brought.
enum ReplyStep: Sendable, Hashable {
  /// Nothing that counts: an empty line, a keep-alive comment.
  case ignored
  /// A sign of life: it restarts the idle limit. The text may be empty.
  case text(String)
  /// The reply is complete, with its last text.
  case finished(String)
}

extension EngineError {
  /// The stream ended before the engine said that the reply was complete.
  static func endedEarly(_ engine: String) -> EngineError {
    EngineError(
      .interrupted, "\(engine) ended the connection before the reply was complete",
      hint: "look at the engine's log: it may have crashed or run out of memory")
  }
}
