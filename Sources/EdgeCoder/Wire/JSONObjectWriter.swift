/// A writer of one flat JSON object in UTF-8.
///
/// The messages have at most four fields. This writer cannot fail, and makes the encoded length of a text exact
/// (``encodedLength(of:)``), which the reply limit needs.
struct JSONObjectWriter {
  private var bytes: [UInt8]

  init(reserving capacity: Int) {
    bytes = []
    bytes.reserveCapacity(capacity)
    bytes.append(.openBrace)
  }

  mutating func add(_ key: StaticString, _ value: String) {
    begin(key)
    bytes.append(jsonString: value)
  }

  mutating func add(_ key: StaticString, _ value: Int) {
    begin(key)
    bytes.append(contentsOf: String(value).utf8)
  }

  mutating func add(_ key: StaticString, _ value: Bool) {
    begin(key)
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  consuming func finish() -> [UInt8] {
    bytes.append(.closeBrace)
    return bytes
  }

  /// Returns the number of bytes that a text occupies between the quotes.
  static func encodedLength(of text: some StringProtocol) -> Int {
    text.utf8.reduce(into: 0) { length, byte in
      switch byte {
      case .quote, .backslash, 0x08, 0x09, 0x0a, 0x0c, 0x0d: length += 2
      case 0..<0x20: length += 6
      default: length += 1
      }
    }
  }

  private mutating func begin(_ key: StaticString) {
    if bytes.count > 1 { bytes.append(.comma) }
    bytes.append(.quote)
    key.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(.quote)
    bytes.append(UInt8(ascii: ":"))
  }
}

extension [UInt8] {
  /// Appends a text as a JSON string, with its quotes.
  mutating func append(jsonString text: String) {
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

// Computed, so that the scanner's inner loops see numbers and not calls of an initialiser.
extension UInt8 {
  static var quote: UInt8 { UInt8(ascii: "\"") }
  static var backslash: UInt8 { UInt8(ascii: "\\") }
  static var openBrace: UInt8 { UInt8(ascii: "{") }
  static var closeBrace: UInt8 { UInt8(ascii: "}") }
  static var openBracket: UInt8 { UInt8(ascii: "[") }
  static var closeBracket: UInt8 { UInt8(ascii: "]") }
  static var comma: UInt8 { UInt8(ascii: ",") }
}
