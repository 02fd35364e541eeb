/// The bytes of a terminal without its escape sequences, such as those of arrow keys, which are no text.
struct KeySequences {
  private enum Place {
    case text, afterEscape, parameters(isFirst: Bool), lastByte
  }

  private var place = Place.text

  /// A Boolean value that indicates whether the last byte was Escape, which is a key of its own if nothing follows.
  var isAfterEscape: Bool { if case .afterEscape = place { true } else { false } }

  /// Forgets an Escape that nothing followed.
  mutating func reset() { place = .text }

  /// Takes the next byte.
  /// - Returns: `true` if the byte belongs to no sequence.
  mutating func isKey(_ byte: UInt8) -> Bool {
    switch (place, byte) {
    case (_, 0x1b): place = .afterEscape
    case (.afterEscape, UInt8(ascii: "[")): place = .parameters(isFirst: true)
    case (.afterEscape, UInt8(ascii: "O")): place = .lastByte
    // The console of Linux: ESC [ [ A.
    case (.parameters(isFirst: true), UInt8(ascii: "[")): place = .lastByte
    case (.parameters, 0x20..<0x40): place = .parameters(isFirst: false)
    case (.afterEscape, 0x20..<0x7f), (.parameters, 0x40..<0x7f), (.lastByte, 0x20..<0x7f): place = .text
    // No sequence contains these: a control character and the text of other languages always count.
    default:
      place = .text
      return true
    }
    return false
  }
}
