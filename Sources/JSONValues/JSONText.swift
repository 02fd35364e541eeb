extension [UInt8] {
  /// Appends a text as a JSON string, with its quotes.
  package mutating func append(jsonString text: String) {
    append(.quote)
    for byte in text.utf8 { append(escaping: byte) }
    append(.quote)
  }

  private mutating func append(escaping byte: UInt8) {
    switch byte {
    case .quote, .backslash: append(escape: byte)
    case 0x08: append(escape: UInt8(ascii: "b"))
    case 0x09: append(escape: UInt8(ascii: "t"))
    case 0x0a: append(escape: UInt8(ascii: "n"))
    case 0x0c: append(escape: UInt8(ascii: "f"))
    case 0x0d: append(escape: UInt8(ascii: "r"))
    case 0..<0x20:
      let digits = Array("0123456789abcdef".utf8)
      append(contentsOf: [.backslash, UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
      append(digits[Int(byte >> 4)])
      append(digits[Int(byte & 15)])
    default: append(byte)
    }
  }

  private mutating func append(escape byte: UInt8) {
    append(.backslash)
    append(byte)
  }
}

// Computed and inlinable, so that the inner loops of scanners see numbers and not calls.
extension UInt8 {
  @inlinable package static var quote: UInt8 { UInt8(ascii: "\"") }
  @inlinable package static var backslash: UInt8 { UInt8(ascii: "\\") }
  @inlinable package static var openBrace: UInt8 { UInt8(ascii: "{") }
  @inlinable package static var closeBrace: UInt8 { UInt8(ascii: "}") }
  @inlinable package static var openBracket: UInt8 { UInt8(ascii: "[") }
  @inlinable package static var closeBracket: UInt8 { UInt8(ascii: "]") }
  @inlinable package static var comma: UInt8 { UInt8(ascii: ",") }
}
