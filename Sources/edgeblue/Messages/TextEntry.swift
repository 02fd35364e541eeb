import MessageSending

/// A text that a user types, byte by byte.
struct TextEntry {
  /// The state of the entry after a byte.
  enum State: Equatable {
    case typing, done
  }

  // One byte more than a message may have: a text that is longer is refused, and not cut.
  private(set) var typed = TypedBytes(limit: PaddedText.largestByteCount + 1)

  /// The text so far; a character that is not complete yet is left out.
  var text: String {
    var whole = typed.bytes[...]
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
    case 10, 13: typed.append(10)
    case 8, 127: removeLast()
    case 9, 0x20...: typed.append(byte)
    // Other control characters are no text.
    default: break
    }
    return .typing
  }

  /// Removes the last character, however many bytes it has.
  private mutating func removeLast() {
    let text = text
    // With what may follow it of a character that is not complete.
    let rest = typed.bytes.count - text.utf8.count
    typed.removeLast(rest + (text.last.map { String($0).utf8.count } ?? 0))
  }

  /// Overwrites the text.
  mutating func wipe() { typed.wipe() }
}
