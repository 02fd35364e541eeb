/// Reads little-endian numbers and pieces from bytes; every reading past the end returns `nil`.
struct ByteReader {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }
  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var count: Int { rest.count }
  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8? { rest.popFirst() }

  mutating func signed() -> Int8? { rest.popFirst().map(Int8.init(bitPattern:)) }

  mutating func uint16() -> UInt16? {
    guard rest.count >= 2 else { return nil }
    let start = rest.startIndex
    defer { rest = rest[(start + 2)...] }
    return UInt16(rest[start]) | UInt16(rest[start + 1]) << 8
  }

  mutating func uint32() -> UInt32? {
    guard rest.count >= 4, let low = uint16(), let high = uint16() else { return nil }
    return UInt32(low) | UInt32(high) << 16
  }

  mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0, rest.count >= count else { return nil }
    defer { rest = rest[(rest.startIndex + count)...] }
    return rest[..<(rest.startIndex + count)]
  }

  mutating func all() -> [UInt8] {
    defer { rest = rest[rest.endIndex...] }
    return Array(rest)
  }
}

extension FixedWidthInteger where Self: UnsignedInteger {
  /// The bytes, the least significant one first.
  var littleEndianBytes: [UInt8] { (0..<(Self.bitWidth / 8)).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) } }
  /// The bytes, the most significant one first.
  var bigEndianBytes: [UInt8] { littleEndianBytes.reversed() }
}

extension Collection<UInt8> {
  /// The bytes in hexadecimal digits, two for each.
  var hexadecimal: String {
    var text = ""
    text.reserveCapacity(count * 2)
    for byte in self {
      text.unicodeScalars.append(Self.digits[Int(byte >> 4)])
      text.unicodeScalars.append(Self.digits[Int(byte & 15)])
    }
    return text
  }

  private static var digits: [Unicode.Scalar] { hexadecimalDigits }
}

private let hexadecimalDigits: [Unicode.Scalar] = Array("0123456789abcdef".unicodeScalars)
