extension String {
  /// Returns the UTF-8 bytes as Signature Version 4 requires them in a URI: letters, digits and `-._~` stay, all others
  /// become `%XX` in capitals.
  /// - Parameter slashes: A Boolean value that indicates whether `/` is encoded too; in the path of an object it is not.
  func percentEncoded(slashes: Bool = true) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = utf8.reduce(into: [UInt8]()) { bytes, byte in
      if Self.unreserved(byte) || byte == UInt8(ascii: "/") && !slashes {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// RFC 3986, 2.3.
  private static func unreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}

extension Sequence<UInt8> {
  /// Two lowercase hexadecimal digits for each byte.
  package var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

extension [UInt8] {
  /// Creates bytes from hexadecimal digits; `nil` if a character is none, or a digit is missing.
  init?(hex: String) {
    guard hex.utf8.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(hex.utf8.count / 2)
    var high: UInt8?
    for digit in hex.utf8 {
      guard let value = Self.value(ofDigit: digit) else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    self = bytes
  }

  private static func value(ofDigit digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
