/// Functions on the text of a reply before it is sent to a client.
enum ReplyText {
  /// Returns the text in pieces of at most `limit` bytes, split between characters; a longer character stays whole.
  ///
  /// Some clients limit the length of a line of a stream.
  static func pieces(_ text: String, limit: Int = 4096) -> [String] {
    var pieces: [String] = []
    var piece = ""
    var size = 0
    for character in text {
      let count = character.utf8.count
      if size + count > limit, size > 0 {
        pieces.append(piece)
        piece = ""
        size = 0
      }
      piece.append(character)
      size += count
    }
    if !piece.isEmpty { pieces.append(piece) }
    return pieces
  }
}

/// The stop sequences of a request, with their limits.
enum StopSequences {
  /// The number of sequences that a request may have.
  static let countLimit = 16
  /// The limit on a sequence, in bytes.
  static let lengthLimit = 1024
}

/// A field that is a string or a list of strings.
struct StringOrList: Decodable, Sendable {
  let values: [String]

  init(from decoder: any Decoder) throws {
    do {
      values = [try decoder.singleValueContainer().decode(String.self)]
    } catch is DecodingError {
      values = try [String](from: decoder)
    }
  }
}
