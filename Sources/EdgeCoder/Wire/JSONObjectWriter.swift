internal import JSONValues

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
