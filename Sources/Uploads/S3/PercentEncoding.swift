extension String {
  /// The UTF-8 bytes as Signature Version 4 wants them in a URI: letters, digits and `-._~` stay, all others become
  /// `%XX` in capitals.
  /// - Parameter slashes: whether `/` is encoded too; in the path of an object it is not.
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
  /// Two small hexadecimal digits for each byte.
  var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

extension [UInt8] {
  /// What hexadecimal digits say; `nil` when they are none, or one is missing.
  init?(hex: String) {
    let digits = hex.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      bytes.append(UInt8(high << 4 | low))
    }
    self = bytes
  }
}
