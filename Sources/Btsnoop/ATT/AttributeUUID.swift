/// A UUID of an attribute as it is in packets: 16, 32 or 128 bits.
///
/// Two are equal when they are the same 128 bits, however long they were in the packet.
public struct AttributeUUID: Sendable, Hashable, CustomStringConvertible {
  /// The 16 bytes, the most significant one first.
  public let bytes: [UInt8]

  /// The end of the UUIDs that have a short form (Core Specification 3.B.2.5.1), without their first 4 bytes.
  private static let base: [UInt8] = [0, 0, 0x10, 0, 0x80, 0, 0, 0x80, 0x5f, 0x9b, 0x34, 0xfb]

  /// Creates the UUID of an assigned number of 16 bits.
  public init(_ short: UInt16) { bytes = [0, 0] + short.bigEndianBytes + Self.base }

  /// Creates a UUID from 2, 4 or 16 bytes, the least significant one first; `nil` for another number of bytes.
  public init?(littleEndian bytes: some BidirectionalCollection<UInt8>) {
    switch bytes.count {
    case 2: self.bytes = [0, 0] + bytes.reversed() + Self.base
    case 4: self.bytes = bytes.reversed() + Self.base
    case 16: self.bytes = bytes.reversed()
    default: return nil
    }
  }

  /// Creates a UUID from four hexadecimal digits or all 36 characters; `nil` for any other text.
  public init?(_ text: String) {
    let digits = Array(text.utf8.filter { $0 != UInt8(ascii: "-") })
    guard digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else { return nil }
    let pairs = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)
    }
    guard pairs.count * 2 == digits.count, text.utf8.count == 4 || text.utf8.count == 36 else { return nil }
    self.init(littleEndian: pairs.reversed())
    guard text.utf8.count == 4 || description == text.lowercased() else { return nil }
  }

  /// The assigned number of 16 bits; `nil` for any other UUID.
  public var short: UInt16? {
    guard bytes[0] == 0, bytes[1] == 0, bytes[4...].elementsEqual(Self.base) else { return nil }
    return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
  }

  /// All 36 characters in lower case.
  public var description: String {
    let text = bytes.hexadecimal
    var parts: [Substring] = []
    var rest = text[...]
    for length in [8, 4, 4, 4, 12] {
      parts.append(rest.prefix(length))
      rest = rest.dropFirst(length)
    }
    return parts.joined(separator: "-")
  }

  /// The bytes, the least significant one first, 2 where the UUID has a short form and 16 otherwise.
  public var littleEndian: [UInt8] { short?.littleEndianBytes ?? bytes.reversed() }
}

extension AttributeUUID {
  static let primaryService = AttributeUUID(0x2800)
  static let secondaryService = AttributeUUID(0x2801)
  static let include = AttributeUUID(0x2802)
  static let characteristic = AttributeUUID(0x2803)
  static let clientConfiguration = AttributeUUID(0x2902)
}
