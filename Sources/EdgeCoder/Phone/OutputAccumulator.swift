/// The text of one reply, collected from the stream of an engine up to the reply limit.
struct OutputAccumulator: Sendable {
  /// The note at the end of a truncated text, for a central that is not told why a reply ends.
  static let truncationNote = "\n[cut: the reply reached its size limit]"

  private(set) var text = ""
  /// A Boolean value that indicates whether the limit was reached; later text is ignored.
  private(set) var isTruncated = false
  /// A Boolean value that indicates whether the model has thought.
  private(set) var hasThinking = false
  /// A Boolean value that indicates whether the model has called tools.
  private(set) var hasToolCalls = false
  /// A Boolean value that indicates whether nothing more is taken: the engine has finished, or the limit was reached.
  private(set) var isComplete = false
  /// The end of the text; that of the engine, unless the limit was reached before.
  private(set) var completion = Completion(.stop)
  private var remaining: Int

  /// - Parameter limit: The limit on the text in an encoded reply, in bytes, the note that may follow it included.
  init(limit: Int) {
    remaining = max(0, limit - JSONObjectWriter.encodedLength(of: Self.truncationNote))
  }

  /// Takes the next output of the engine.
  /// - Returns: The output as far as it was taken; at the limit, the beginning of its text.
  /// - Throws: ``EngineError`` for a call of a tool that exceeds the limit, of which a part is of no use.
  mutating func take(_ output: EngineOutput) throws(EngineError) -> EngineOutput {
    switch output {
    case .text(let piece): return .text(append(piece))
    case .thinking(let piece):
      hasThinking = true
      return .thinking(fitting(piece))
    case .toolCall(let call):
      let length = JSONObjectWriter.encodedLength(of: call.name) + JSONObjectWriter.encodedLength(of: call.arguments)
      guard length <= remaining else {
        throw EngineError(.badReply, "a call of a tool has \(length) bytes; allowed: \(remaining)")
      }
      remaining -= length
      hasToolCalls = true
      return output
    case .ignored: return output
    case .end(let completion):
      end(completion)
      isComplete = true
      return output
    }
  }

  /// Appends text.
  /// - Returns: The text that was appended; at the limit, the beginning of it.
  mutating func append(_ piece: String) -> String {
    let taken = fitting(piece)
    text += taken
    return taken
  }

  /// Returns a piece as far as it fits; at the limit the reply is complete.
  private mutating func fitting(_ piece: String) -> String {
    guard !isTruncated else { return "" }
    let length = JSONObjectWriter.encodedLength(of: piece)
    if length <= remaining {
      remaining -= length
      return piece
    }
    var taken = ""
    for character in piece {
      let length = JSONObjectWriter.encodedLength(of: String(character))
      guard length <= remaining else { break }
      taken.append(character)
      remaining -= length
    }
    isTruncated = true
    isComplete = true
    completion = Completion(.length)
    return taken
  }

  /// Records the end that the engine reports.
  mutating func end(_ completion: Completion) {
    if !isTruncated { self.completion = completion }
  }

  /// Returns `true` for a text that ends with the note of a phone.
  static func isTruncated(_ text: String) -> Bool { text.hasSuffix(truncationNote) }
}
