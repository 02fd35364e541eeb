internal import EdgeCoder

/// What becomes of a phone's text on its way to a client.
enum ReplyText {
  /// The text up to the first of the stop sequences.
  static func cut(_ text: String, atFirstOf stops: [String]) -> String {
    var filter = StopFilter(stops)
    return filter.take(text) + filter.rest()
  }

  /// The text in pieces of at most `limit` bytes, cut between characters; a character longer than that stays whole.
  ///
  /// Some clients limit the length of a line of a stream, so a long reply cannot travel in one.
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

  /// Phones do not count tokens. Clients want a number, so they get the usual rule of thumb: one for four bytes.
  static func estimatedTokens(_ text: String) -> Int {
    (text.utf8.count + 3) / 4
  }
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
