extension JSONValue {
  /// The error of bytes that are not one JSON value.
  public struct Malformed: Error, Sendable, Hashable, CustomStringConvertible {
    /// The position of the first byte that does not fit, from 0.
    public let position: Int
    /// The reason for display, without any content.
    public let reason: String

    /// The reason and the position, for display.
    public var description: String { "not JSON at byte \(position): \(reason)" }
  }

  /// The limit on the depth of lists and objects in one another.
  public static let depthLimit = 64

  /// Reads one JSON value (RFC 8259) in UTF-8, with spaces around it.
  /// - Throws: ``Malformed``, also for a value that is deeper than ``depthLimit``.
  public init(parsing bytes: [UInt8]) throws(Malformed) {
    var parser = JSONParser(bytes)
    self = try parser.whole()
  }
}

/// A parser of one JSON value; it reads each byte once.
private struct JSONParser {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func whole() throws(JSONValue.Malformed) -> JSONValue {
    let value = try value(depth: 0)
    skipSpaces()
    guard position == bytes.count else { throw malformed("more than one value") }
    return value
  }

  private func malformed(_ reason: String) -> JSONValue.Malformed {
    JSONValue.Malformed(position: position, reason: reason)
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpaces() {
    while let byte = next, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONValue.Malformed) -> JSONValue {
    skipSpaces()
    guard let byte = next else { throw malformed("the value is incomplete") }
    switch byte {
    case .openBrace, .openBracket:
      guard depth < JSONValue.depthLimit else { throw malformed("more than \(JSONValue.depthLimit) levels") }
      position += 1
      return byte == .openBrace ? try object(depth: depth + 1) : try array(depth: depth + 1)
    case .quote:
      position += 1
      return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return try number()
    }
  }

  private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONValue.Malformed) -> JSONValue {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.count, word.withUTF8Buffer({ bytes[position..<end].elementsEqual($0) }) else {
      throw malformed("an unknown word")
    }
    position = end
    return value
  }

  private mutating func array(depth: Int) throws(JSONValue.Malformed) -> JSONValue {
    var elements: [JSONValue] = []
    skipSpaces()
    if take(.closeBracket) { return .array([]) }
    while true {
      elements.append(try value(depth: depth))
      skipSpaces()
      if take(.closeBracket) { return .array(elements) }
      guard take(.comma) else { throw malformed("no comma between two elements") }
    }
  }

  private mutating func object(depth: Int) throws(JSONValue.Malformed) -> JSONValue {
    var members: [JSONValue.Member] = []
    skipSpaces()
    if take(.closeBrace) { return .object([]) }
    while true {
      skipSpaces()
      guard take(.quote) else { throw malformed("a member without a name") }
      let name = try string()
      skipSpaces()
      guard take(UInt8(ascii: ":")) else { throw malformed("a member without a value") }
      members.append(JSONValue.Member(name, try value(depth: depth)))
      skipSpaces()
      if take(.closeBrace) { return .object(members) }
      guard take(.comma) else { throw malformed("no comma between two members") }
    }
  }

  private mutating func number() throws(JSONValue.Malformed) -> JSONValue {
    let start = position
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try digits() }
    if take(UInt8(ascii: ".")) { try digits() }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    return .number(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  private mutating func digits() throws(JSONValue.Malformed) {
    let start = position
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    guard position > start else { throw malformed("no value") }
  }

  // MARK: Strings

  /// Reads a string after its first quote.
  private mutating func string() throws(JSONValue.Malformed) -> String {
    var text: [UInt8] = []
    while let byte = next {
      position += 1
      switch byte {
      case .quote:
        guard let string = String(validating: text, as: UTF8.self) else {
          throw malformed("a string that is not UTF-8")
        }
        return string
      case .backslash: text += try escape()
      case 0..<0x20: throw malformed("a control character in a string")
      default: text.append(byte)
      }
    }
    throw malformed("the string is incomplete")
  }

  /// Reads an escape after its backslash.
  private mutating func escape() throws(JSONValue.Malformed) -> [UInt8] {
    guard let byte = next else { throw malformed("the string is incomplete") }
    position += 1
    switch byte {
    case .quote, .backslash, UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0c]
    case UInt8(ascii: "n"): return [0x0a]
    case UInt8(ascii: "r"): return [0x0d]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"): return Array(String(Character(try scalar())).utf8)
    default: throw malformed("an unknown escape")
    }
  }

  /// Reads the digits of a scalar, of both halves if it has two.
  private mutating func scalar() throws(JSONValue.Malformed) -> Unicode.Scalar {
    let first = try hexadecimal()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xdc00, take(.backslash), take(UInt8(ascii: "u")) else { throw malformed("half a character") }
    let second = try hexadecimal()
    guard (0xdc00...0xdfff).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    else { throw malformed("half a character") }
    return scalar
  }

  private mutating func hexadecimal() throws(JSONValue.Malformed) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw malformed("an incomplete escape")
      }
      position += 1
      value = value << 4 | UInt32(digit)
    }
    return value
  }
}
