/// A text that a user types, byte by byte.
struct TextEntry {
  /// The state of the entry after a byte.
  enum State: Equatable {
    case typing, done
  }

  private var bytes: [UInt8] = []

  /// The text so far; a character that is not complete yet is left out.
  var text: String {
    var whole = bytes[...]
    while let last = whole.last, last & 0xc0 == 0x80 || last >= 0xc0 {
      if String(validating: whole, as: UTF8.self) != nil { break }
      whole.removeLast()
    }
    return String(decoding: whole, as: UTF8.self)
  }

  /// Adds a byte that the terminal has sent: text, Backspace, Enter, or Ctrl-D for the end.
  mutating func add(_ byte: UInt8) -> State {
    switch byte {
    case 4: return .done
    case 10, 13: bytes.append(10)
    case 8, 127: removeLast()
    case 9, 0x20...: bytes.append(byte)
    // Other control characters are no text.
    default: break
    }
    return .typing
  }

  /// Removes the last character, however many bytes it has.
  private mutating func removeLast() {
    var text = text
    guard !text.isEmpty else { return bytes.removeAll() }
    text.removeLast()
    bytes = Array(text.utf8)
  }
}
