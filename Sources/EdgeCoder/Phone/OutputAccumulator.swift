/// The text of one reply, collected from the stream of an engine up to the reply limit.
struct OutputAccumulator: Sendable {
  /// The note at the end of a truncated text.
  static let truncationNote = "\n[cut: the reply reached its size limit]"

  private(set) var text = ""
  /// A Boolean value that indicates whether the limit was reached; later text is ignored.
  private(set) var isTruncated = false
  private var remaining: Int

  /// - Parameter limit: The limit on the text in an encoded reply, in bytes, the note included.
  init(limit: Int) {
    remaining = max(0, limit - JSONObjectWriter.encodedLength(of: Self.truncationNote))
  }

  /// Appends text.
  /// - Returns: The text that was appended; at the limit, the beginning of it and the note.
  mutating func append(_ piece: String) -> String {
    guard !isTruncated else { return "" }
    let length = JSONObjectWriter.encodedLength(of: piece)
    if length <= remaining {
      text += piece
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
    taken += Self.truncationNote
    text += taken
    isTruncated = true
    return taken
  }
}
