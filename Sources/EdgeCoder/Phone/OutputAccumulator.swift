/// Gathers the pieces an engine streams into the output of one reply, up to the reply limit.
struct OutputAccumulator: Sendable {
  /// Put behind a text that was cut off, so that nobody takes it for the whole.
  static let cutNote = "\n[cut: the reply reached its size limit]"

  private(set) var text = ""
  /// Whether the limit was reached; what comes after is not taken.
  private(set) var isCut = false
  private var room: Int

  /// - Parameter limit: the most bytes the text may take in an encoded reply, the note included.
  init(limit: Int) {
    room = max(0, limit - JSONObjectWriter.encodedLength(of: Self.cutNote))
  }

  /// Takes a piece.
  /// - Returns: false when the limit is reached and the engine may stop.
  mutating func append(_ piece: String) -> Bool {
    guard !isCut else { return false }
    let length = JSONObjectWriter.encodedLength(of: piece)
    if length <= room {
      text += piece
      room -= length
      return true
    }
    for character in piece {
      let length = JSONObjectWriter.encodedLength(of: String(character))
      guard length <= room else { break }
      text.append(character)
      room -= length
    }
    text += Self.cutNote
    isCut = true
    return false
  }
}
