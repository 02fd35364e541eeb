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
  /// - Returns: what went into the text: less than the piece, and the note, when it reached the limit.
  mutating func append(_ piece: String) -> String {
    guard !isCut else { return "" }
    let length = JSONObjectWriter.encodedLength(of: piece)
    if length <= room {
      text += piece
      room -= length
      return piece
    }
    var taken = ""
    for character in piece {
      let length = JSONObjectWriter.encodedLength(of: String(character))
      guard length <= room else { break }
      taken.append(character)
      room -= length
    }
    taken += Self.cutNote
    text += taken
    isCut = true
    return taken
  }
}
